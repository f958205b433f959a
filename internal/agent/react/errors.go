package react

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	msgManyCalls
	msgUnauthorized
	msgNotFound
	msgTooMany
	msgTooLong
	msgRefused
	msgServerError
	msgFiltered
	msgNoQuota
	msgOwnError
	msgCutOff
	msgNoRoom
	msgBrokeOff
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
	case msgManyCalls:
		return pick("The model's answer was ended: it had more than %d tool calls.", "模型的回答包含超过 %d 个工具调用，已终止。")
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
		return pick("The conversation is too long for the model. Start a new one, or ask for less at a time.",
			"对话对该模型来说太长。请新建对话，或每次少问一些。")
	case msgFiltered:
		return pick("The content filter of the model's server stopped this answer. Put the question in other words.",
			"模型服务的内容过滤器拦截了本次回答。请换一种说法提问。")
	case msgNoQuota:
		return pick("The account at the model's server has no quota or balance left. Check it with the provider.",
			"模型服务的账户额度或余额不足。请在服务商处检查。")
	case msgOwnError:
		return pick("The model's server ended its answer with an error. Try again.",
			"模型服务在回答中途报错。请重试。")
	case msgCutOff:
		return pick("Note: the answer ends here because it reached the token limit (DATAMIND__LLM__MAX_TOKENS).",
			"注意：回答达到词元上限（DATAMIND__LLM__MAX_TOKENS），到此中断。")
	case msgRefused:
		return pick("The model's server refused the request (HTTP %d).", "模型服务拒绝了请求（HTTP %d）。")
	case msgServerError:
		return pick("The model's server failed (HTTP %d). Try again later.", "模型服务出错（HTTP %d）。请稍后再试。")
	case msgNoRoom:
		return pick("The model reached its token limit before it answered. Raise DATAMIND__LLM__MAX_TOKENS.",
			"模型在回答之前就达到了词元上限。请调高 DATAMIND__LLM__MAX_TOKENS。")
	case msgBrokeOff:
		return pick("The model's answer broke off. Try again.", "模型的回答中途断开。请重试。")
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
	if errors.Is(err, errManyCalls) {
		return agent.Wrap(agent.CodeModel, cause(err), fmt.Sprintf(r.say(msgManyCalls), maxCalls))
	}
	if answer, ok := errors.AsType[serverError](err); ok {
		return agent.Wrap(agent.CodeModel, cause(err), r.sayStatus(answer))
	}
	m := msgModel
	var network net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		m = msgTimeout
	case errors.Is(err, io.ErrUnexpectedEOF):
		m = msgBrokeOff
	case errors.As(err, &network):
		m = msgUnreachable
	}
	return agent.Wrap(agent.CodeModel, cause(err), r.say(m))
}

// A serverError is what a model's server answered instead of an answer.
type serverError interface {
	error
	HTTPStatus() int // 0: it named none
	Reason() string  // "" where its words tell none of the known ones
}

// sayStatus returns what a person can do about e.
func (r *turn) sayStatus(e serverError) string {
	switch e.Reason() {
	case "too_long":
		return r.say(msgTooLong)
	case "filtered":
		return r.say(msgFiltered)
	case "no_quota":
		return r.say(msgNoQuota)
	}
	m := statusMessage(e.HTTPStatus())
	if m == msgTooLong || m == msgOwnError {
		return r.say(m)
	}
	return fmt.Sprintf(r.say(m), e.HTTPStatus())
}

func statusMessage(status int) message {
	switch {
	case status == 0:
		return msgOwnError
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
