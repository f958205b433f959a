package models

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

const (
	anthropicBase   = "https://api.anthropic.com/"
	anthropicTokens = 4096 // of an answer, where none are set: the protocol wants a number
)

// claude is a model behind a server that speaks Anthropic's messages.
type claude struct {
	cfg      Config
	from     string // see fromKey
	tools    []anthropic.ToolUnionParam
	messages anthropic.MessageService
	habits   *learned
}

var _ model.ToolCallingChatModel = (*claude)(nil)

// anthropicModel returns a model behind a server that speaks Anthropic's
// messages. Nothing is read from the environment.
func anthropicModel(c Config) (model.ToolCallingChatModel, error) {
	base, err := c.base(anthropicBase)
	if err != nil {
		return nil, err
	}
	if c.MaxTokens <= 0 {
		c.MaxTokens = anthropicTokens
	}
	client := c.client()
	client.Transport = plainEvents{client.Transport}
	opts := []option.RequestOption{
		option.WithBaseURL(withoutVersion(base).String()), option.WithHTTPClient(client),
		option.WithMaxRetries(0), // the transport's work
	}
	if c.APIKey != "" {
		opts = append(opts, option.WithAPIKey(c.APIKey))
	}
	return &claude{
		cfg: c, from: c.origin(Anthropic, base), messages: anthropic.NewMessageService(opts...), habits: &learned{},
	}, nil
}

// withoutVersion returns base without the "v1" at its end, which the library
// adds and which addresses of OpenAI's kind have.
func withoutVersion(base *url.URL) *url.URL {
	u := *base
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/v1")
	return &u
}

// WithTools implements [model.ToolCallingChatModel].
func (m *claude) WithTools(infos []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	tools, err := claudeTools(infos)
	if err != nil {
		return nil, err
	}
	bound := *m
	bound.tools = tools
	return &bound, nil
}

// Generate implements [model.BaseModel].
func (m *claude) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	return generate(m.Stream(ctx, in, opts...))
}

// Stream implements [model.BaseModel].
func (m *claude) Stream(ctx context.Context, in []*schema.Message, _ ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	stream, err := m.ask(ctx, in)
	if err != nil {
		return nil, err
	}
	return pump(stream, func(send func(*schema.Message) bool) error { return m.read(stream, send) }), nil
}

// answerStream is what the library makes of an answer.
type answerStream = ssestream.Stream[anthropic.MessageStreamEventUnion]

// ask makes the request, again where the server wants it in another way.
func (m *claude) ask(ctx context.Context, in []*schema.Message) (*answerStream, error) {
	for try := 0; ; try++ {
		h := m.habits.get()
		params := anthropic.MessageNewParams{
			Model: m.cfg.Model, MaxTokens: int64(m.cfg.MaxTokens), Tools: m.tools,
			System: claudeSystem(in), Messages: claudeMessages(in, m.from),
		}
		// The newest models refuse any temperature, and 1 is what all have.
		if t := float64(m.cfg.Temperature); t != 1 && !h.noTemperature {
			params.Temperature = param.NewOpt(t)
		}
		stream := m.messages.NewStreaming(ctx, params)
		err := stream.Err()
		if err == nil {
			return stream, nil
		}
		if status, ok := errors.AsType[*StatusError](err); ok && try < maxLessons && m.habits.from(status, h) {
			continue
		}
		return nil, err
	}
}

// read sends what is in a stream until it ends. One that just stops is no
// answer.
func (m *claude) read(stream *answerStream, send func(*schema.Message) bool) error {
	var a claudeAnswer
	for stream.Next() {
		msg, err := a.message(stream.Current())
		if err != nil {
			return err
		}
		if msg != nil && !send(msg) {
			return nil
		}
	}
	if err := stream.Err(); err != nil {
		return m.cfg.withoutKey(streamError(err))
	}
	if !a.whole {
		return io.ErrUnexpectedEOF
	}
	send(a.end(m.from))
	return nil
}

// streamError returns the error that a server sent within a stream as one of
// ours.
func streamError(err error) error {
	said, ok := errors.AsType[*anthropic.Error](err)
	if !ok {
		return err
	}
	if e := inStreamError([]byte(said.RawJSON())); e != nil {
		return e
	}
	return &StatusError{Text: said.RawJSON()}
}

// plainEvents hands streams on in the one form that the library reads: an event's
// name before its data, the data in one line. The name is the type that stands in
// the data, which gateways send without it.
type plainEvents struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (t plainEvents) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body := resp.Body
	pr, pw := io.Pipe()
	go func() { _ = pw.CloseWithError(rewriteEvents(pw, body)) }()
	resp.Body = pipeBody{pr, body}
	return resp, nil
}

type pipeBody struct {
	*io.PipeReader
	body io.Closer
}

// Close implements [io.Closer].
func (b pipeBody) Close() error { return errors.Join(b.PipeReader.Close(), b.body.Close()) }

func rewriteEvents(w io.Writer, r io.Reader) error {
	for es := newEvents(r); ; {
		e, err := es.next()
		if err != nil {
			return err // at the end io.EOF, which says just that
		}
		all, err := asEvents(e.data)
		if err != nil {
			return err
		}
		for _, data := range all {
			name, line, err := typed(data)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, line); err != nil {
				return err
			}
		}
	}
}
