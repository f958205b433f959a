package react

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/cloudwego/eino/compose"

	"example.com/datamind/internal/agent"
)

// A message is something that the engine says to a person.
type message int

const (
	msgMaxTurns message = iota
	msgMaxToolCalls
	msgWrittenCall
	msgEmptyAnswer
	msgFlood
	msgUnauthorized
	msgNotFound
	msgTooMany
	msgTooLong
	msgRefused
	msgServerError
	msgTimeout
	msgUnreachable
	msgModel
)

// say returns m in the language of the turn's user.
func (r *turn) say(m message) string { return say(m, r.Lang) }

func say(m message, lang string) string {
	zh := strings.HasPrefix(lang, "zh")
	pick := func(en, cn string) string {
		if zh {
			return cn
		}
		return en
	}
	switch m {
	case msgMaxTurns:
		return pick("The turn was ended after %d model calls.", "本轮已达到 %d 次模型调用的上限，已结束。")
	case msgMaxToolCalls:
		return pick("The turn was ended: it would take more than %d tool calls.", "本轮将超过 %d 次工具调用的上限，已结束。")
	case msgWrittenCall:
		return pick("Note: the model wrote a tool call as text, so nothing was run. Its server may lack tool calling.",
			"注意：模型把工具调用写成了文本，因此没有执行任何操作。模型服务可能不支持工具调用。")
	case msgEmptyAnswer:
		return pick("The model sent an empty answer.", "模型返回了空的回答。")
	case msgFlood:
		return pick("The model's answer was ended: it was longer than %d MiB.", "模型的回答超过 %d MiB，已终止。")
	case msgUnauthorized:
		return pick("The model's server refused the key (HTTP %d). Check DATAMIND__LLM__API_KEY.",
			"模型服务拒绝了密钥（HTTP %d）。请检查 DATAMIND__LLM__API_KEY。")
	case msgNotFound:
		return pick("The model's server does not know this address or model (HTTP %d). Check DATAMIND__LLM__API_BASE and DATAMIND__LLM__MODEL.",
			"模型服务找不到该地址或模型（HTTP %d）。请检查 DATAMIND__LLM__API_BASE 和 DATAMIND__LLM__MODEL。")
	case msgTooMany:
		return pick("The model's server has too many requests or no quota left (HTTP %d). Try again later.",
			"模型服务请求过多或额度不足（HTTP %d）。请稍后再试。")
	case msgTooLong:
		return pick("The conversation is too long for the model's server (HTTP %d). Start a new one.",
			"对话对模型服务来说太长（HTTP %d）。请新建对话。")
	case msgRefused:
		return pick("The model's server refused the request (HTTP %d).", "模型服务拒绝了请求（HTTP %d）。")
	case msgServerError:
		return pick("The model's server failed (HTTP %d). Try again later.", "模型服务出错（HTTP %d）。请稍后再试。")
	case msgTimeout:
		return pick("The model's server did not answer in time.", "模型服务没有及时响应。")
	case msgUnreachable:
		return pick("The model's server can't be reached. Check DATAMIND__LLM__API_BASE.",
			"无法连接模型服务。请检查 DATAMIND__LLM__API_BASE。")
	case msgModel:
		return pick("The model's answer could not be read.", "无法读取模型的回答。")
	}
	return ""
}

// publicError returns err as it may be shown. Eino wraps every error in the path
// of nodes that it passed and in stack traces: of those nothing is kept but the
// cause, for the log.
func (r *turn) publicError(err error) *agent.Error {
	if own, ok := errors.AsType[*agent.Error](err); ok {
		return own
	}
	if errors.Is(err, compose.ErrExceedMaxSteps) {
		return agent.Errorf(agent.CodeLimit, r.say(msgMaxTurns), r.cfg.MaxTurns)
	}
	if errors.Is(err, errFlood) {
		return agent.Wrap(agent.CodeModel, cause(err), fmt.Sprintf(r.say(msgFlood), maxAnswer>>20))
	}
	var status interface{ HTTPStatus() int }
	if errors.As(err, &status) {
		text := fmt.Sprintf(r.say(statusMessage(status.HTTPStatus())), status.HTTPStatus())
		return agent.Wrap(agent.CodeModel, cause(err), text)
	}
	m := msgModel
	var network net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		m = msgTimeout
	case errors.As(err, &network):
		m = msgUnreachable
	}
	return agent.Wrap(agent.CodeModel, cause(err), r.say(m))
}

func statusMessage(status int) message {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return msgUnauthorized
	case status == http.StatusNotFound:
		return msgNotFound
	case status == http.StatusTooManyRequests, status == http.StatusPaymentRequired:
		return msgTooMany
	case status == http.StatusRequestEntityTooLarge:
		return msgTooLong
	case status >= http.StatusInternalServerError:
		return msgServerError
	}
	return msgRefused
}

// cause returns what err says, without the stack traces that Eino appends to it.
func cause(err error) error {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(text)
}

// writtenCall reports whether text holds a tool call that a model wrote instead
// of making it. It is never made for it: nobody could tell it from one that the
// model quotes.
func writtenCall(text string) bool {
	for _, mark := range []string{"<tool_call>", "<|tool_call", "<function=", "<function_call>", "[TOOL_CALLS]", "<｜tool▁calls▁begin｜>"} {
		if strings.Contains(text, mark) {
			return true
		}
	}
	return false
}
