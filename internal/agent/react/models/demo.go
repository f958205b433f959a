package models

import (
	"context"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// pieceRunes is about how much text the demo model sends at a time.
const pieceRunes = 12

// longestAnswer bounds the time that an answer of the demo model takes.
const longestAnswer = time.Second

// Demo returns the model that needs no network: it knows the demo database, runs
// SQL that the user types, and says that it is a demo. It waits for pace between
// the pieces of its text, and not longer than a second in all.
//
// It knows nothing by heart but questions and the SQL that answers them: every
// figure that it tells is read from a tool's result.
func Demo(pace time.Duration) (model.ToolCallingChatModel, error) {
	b, err := loadBook()
	if err != nil {
		return nil, err
	}
	return &demo{book: b, pace: pace}, nil
}

// Examples returns questions that the demo model can answer, in the language
// "en" or "zh-Hans", destructive ones among them.
func Examples(lang string) []string {
	b, err := loadBook()
	if err != nil {
		return nil
	}
	return b.examples(langOf(lang))
}

type demo struct {
	book *book
	pace time.Duration
}

var _ model.ToolCallingChatModel = (*demo)(nil)

// WithTools implements [model.ToolCallingChatModel]. The demo model knows the
// tools that it uses.
func (d *demo) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return d, nil }

// Generate implements [model.BaseModel].
func (d *demo) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	r := d.book.reply(parseTalk(in))
	return schema.ConcatMessages(r.pieces(in))
}

// Stream implements [model.BaseModel].
func (d *demo) Stream(ctx context.Context, in []*schema.Message, _ ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	pieces := d.book.reply(parseTalk(in)).pieces(in)
	if d.pace <= 0 {
		return schema.StreamReaderFromArray(pieces), nil
	}
	pace := min(d.pace, longestAnswer/time.Duration(len(pieces)))
	sr, sw := schema.Pipe[*schema.Message](1)
	go func() {
		defer sw.Close()
		tick := time.NewTicker(max(pace, time.Microsecond))
		defer tick.Stop()
		for _, p := range pieces {
			select {
			case <-tick.C:
			case <-ctx.Done():
				sw.Send(nil, ctx.Err())
				return
			}
			if sw.Send(p, nil) {
				return
			}
		}
	}()
	return sr, nil
}

// A reply is what the demo model says next.
type reply struct {
	text  string
	calls []call
}

// A call is a tool call of the demo model.
type call struct {
	tool string
	args string
}

// pieces cuts r as a server would stream it. The IDs of the calls follow from
// the conversation in, so that the same conversation goes the same way.
func (r reply) pieces(in []*schema.Message) []*schema.Message {
	var out []*schema.Message
	for _, p := range cut(r.text, pieceRunes) {
		out = append(out, &schema.Message{Role: schema.Assistant, Content: p})
	}
	for i, c := range r.calls {
		head := schema.ToolCall{Index: &i, ID: "demo_" + strconv.Itoa(len(in)) + "_" + strconv.Itoa(i), Type: "function"}
		head.Function.Name = c.tool
		out = append(out, toolPiece(head))
		for _, p := range cut(c.args, 4*pieceRunes) {
			out = append(out, toolPiece(schema.ToolCall{Index: &i, Function: schema.FunctionCall{Arguments: p}}))
		}
	}
	reason := "stop"
	if len(r.calls) > 0 {
		reason = "tool_calls"
	}
	return append(out, &schema.Message{Role: schema.Assistant, ResponseMeta: &schema.ResponseMeta{FinishReason: reason}})
}

func toolPiece(c schema.ToolCall) *schema.Message {
	return &schema.Message{Role: schema.Assistant, ToolCalls: []schema.ToolCall{c}}
}

// cut cuts s into pieces of about n runes, at blanks where there are any.
func cut(s string, n int) []string {
	var out []string
	for s != "" {
		end, runes := 0, 0
		for end < len(s) && (runes < n || !strings.ContainsRune(" \n", rune(s[end])) && runes < 2*n) {
			_, size := utf8.DecodeRuneInString(s[end:])
			end += size
			runes++
		}
		out = append(out, s[:end])
		s = s[end:]
	}
	return out
}
