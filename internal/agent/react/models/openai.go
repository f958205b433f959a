package models

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

const openAIBase = "https://api.openai.com/v1"

// chat is a model behind a server that speaks OpenAI's chat completions. It
// hands on what the server sent piece by piece and joins nothing: two calls that
// share an index would be one before anybody could see both.
type chat struct {
	cfg    Config
	url    string
	from   string // see fromKey
	header http.Header
	tools  []chatTool
	client *http.Client
	habits *learned
}

var _ model.ToolCallingChatModel = (*chat)(nil)

// openAI returns a model behind a server that speaks OpenAI's chat completions.
func openAI(c Config) (model.ToolCallingChatModel, error) {
	base, err := c.base(openAIBase)
	if err != nil {
		return nil, err
	}
	m := &chat{
		cfg: c, url: base.JoinPath("chat", "completions").String(), from: c.origin(OpenAI, base),
		header: http.Header{"Content-Type": {"application/json"}, "Accept": {eventStream}},
		client: c.client(), habits: &learned{},
	}
	// OpenAI's newer models refuse the name that everybody else knows.
	m.habits.h.completionTokens = strings.HasSuffix(base.Hostname(), ".openai.com")
	switch {
	case c.APIKey == "":
	case isAzure(base):
		m.header.Set("Api-Key", c.APIKey)
	default:
		m.header.Set("Authorization", "Bearer "+c.APIKey)
	}
	return m, nil
}

// isAzure reports whether a server takes its key as Azure does.
func isAzure(base *url.URL) bool {
	return strings.HasSuffix(base.Hostname(), ".azure.com") || base.Query().Has("api-version")
}

// WithTools implements [model.ToolCallingChatModel].
func (m *chat) WithTools(infos []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	tools, err := chatTools(infos)
	if err != nil {
		return nil, err
	}
	bound := *m
	bound.tools = tools
	return &bound, nil
}

// Generate implements [model.BaseModel].
func (m *chat) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	return generate(m.Stream(ctx, in, opts...))
}

// generate joins a stream as Eino does, who trusts indexes. The guarded model
// never comes here.
func generate(sr *schema.StreamReader[*schema.Message], err error) (*schema.Message, error) {
	if err != nil {
		return nil, err
	}
	return schema.ConcatMessageStream(sr)
}

// Stream implements [model.BaseModel].
func (m *chat) Stream(ctx context.Context, in []*schema.Message, _ ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	resp, err := m.ask(ctx, in)
	if err != nil {
		return nil, err
	}
	return pump(resp.Body, func(send func(*schema.Message) bool) error { return m.read(resp.Body, send) }), nil
}

// maxLessons bounds how often a request is made again in another way.
const maxLessons = 5

// ask makes the request, again where the server wants it in another way.
func (m *chat) ask(ctx context.Context, in []*schema.Message) (*http.Response, error) {
	for try := 0; ; try++ {
		h := m.habits.get()
		body, err := m.request(in, h)
		if err != nil {
			return nil, fmt.Errorf("write the model's request: %w", err)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
		if err != nil {
			return nil, fmt.Errorf("make the model's request: %w", err)
		}
		req.Header = m.header.Clone()
		resp, err := m.client.Do(req)
		if status, ok := errors.AsType[*StatusError](err); ok && try < maxLessons && m.habits.from(status, h) {
			continue
		}
		return resp, err
	}
}

// read sends the messages that are in a body until it ends. A body that just
// stops is no answer.
func (m *chat) read(body io.Reader, send func(*schema.Message) bool) error {
	var answer chunks
	for es := newEvents(body); ; {
		e, err := es.next()
		switch {
		case errors.Is(err, io.EOF) && !answer.whole:
			return io.ErrUnexpectedEOF
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case err != nil || string(e.data) == doneMark:
			if extra := answer.kept.extra(m.from); extra != nil {
				send(&schema.Message{Role: schema.Assistant, Extra: extra})
			}
			return nil
		}
		msg, err := answer.message(e.data)
		if err != nil {
			return m.cfg.withoutKey(err)
		}
		if !send(msg) {
			return nil
		}
	}
}

// pump reads an answer in a goroutine of its own, which ends when the answer does
// or nobody reads what comes.
func pump(answer io.Closer, read func(send func(*schema.Message) bool) error) *schema.StreamReader[*schema.Message] {
	sr, sw := schema.Pipe[*schema.Message](1)
	go func() {
		defer sw.Close()
		defer func() { _ = answer.Close() }()
		defer func() {
			if p := recover(); p != nil {
				sw.Send(nil, fmt.Errorf("read the model's answer: panic: %v", p))
			}
		}()
		if err := read(func(m *schema.Message) bool { return !sw.Send(m, nil) }); err != nil {
			sw.Send(nil, err)
		}
	}()
	return sr
}
