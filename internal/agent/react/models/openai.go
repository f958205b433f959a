package models

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/components/model"
)

const (
	defaultTimeout = time.Minute
	openAIBase     = "https://api.openai.com/v1"
)

// openAI returns a model behind a server that speaks OpenAI's chat completions.
func openAI(ctx context.Context, c Config) (model.ToolCallingChatModel, error) {
	if c.APIBase == "" {
		c.APIBase = openAIBase
	}
	base, err := url.Parse(c.APIBase)
	switch {
	case err != nil:
		return nil, errors.New("the model's address is not a URL")
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return nil, fmt.Errorf("the model's address %q is not an http or https URL", base.Redacted())
	case base.User != nil:
		return nil, errors.New("the model's address holds a password; use the key's own setting")
	case c.Model == "":
		return nil, errors.New("a model's address is set, but no model is named")
	case c.MaxRetries < 0:
		return nil, fmt.Errorf("%d retries of a model request", c.MaxRetries)
	}
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	conf := &openai.ChatModelConfig{
		APIKey:      c.APIKey,
		BaseURL:     c.APIBase,
		Model:       c.Model,
		Temperature: &c.Temperature,
		HTTPClient:  c.client(),
	}
	if c.MaxTokens > 0 {
		// OpenAI's newer models refuse the name that everybody else knows.
		if strings.HasSuffix(base.Hostname(), ".openai.com") {
			conf.MaxCompletionTokens = &c.MaxTokens
		} else {
			conf.MaxTokens = &c.MaxTokens
		}
	}
	m, err := openai.NewChatModel(ctx, conf)
	if err != nil {
		return nil, fmt.Errorf("make a client of the model's server: %w", err)
	}
	return m, nil
}

// client returns a client that retries, times out by silence, and hands on
// streams that the library can't misread. It has no overall timeout: an answer
// may take long as long as it comes.
func (c Config) client() *http.Client {
	client := &http.Client{}
	if c.Client != nil {
		*client = *c.Client
	}
	base := client.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	client.Timeout = 0
	client.Transport = &transport{
		base:    base,
		retries: c.MaxRetries,
		silence: c.Timeout,
		secret:  c.APIKey,
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}
