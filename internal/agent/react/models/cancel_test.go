package models

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"

	"example.com/datamind/internal/agent/react/models/openaitest"
)

// TestCancel holds that a request ends when its turn does: the server, which
// would go on and bill it, sees the connection close.
func TestCancel(t *testing.T) {
	first := map[string]string{
		OpenAI:    "data: " + openaitest.Delta(map[string]any{"content": "One"}, "") + "\n\n",
		Anthropic: `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"One"}}` + "\n\n",
	}
	for protocol, chunk := range first {
		for name, said := range map[string]string{"while it answers": chunk, "before it answers": ""} {
			t.Run(protocol+" "+name, func(t *testing.T) {
				asked, gone := make(chan struct{}), make(chan struct{})
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					_, _ = io.Copy(io.Discard, req.Body)
					if said != "" {
						_, _ = io.WriteString(w, said)
						w.(http.Flusher).Flush()
					}
					close(asked)
					<-req.Context().Done()
					close(gone)
				}))
				defer s.Close()
				defer s.CloseClientConnections()
				m := opened(t, Config{Protocol: protocol, APIBase: s.URL, MaxRetries: 2})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if said == "" {
					go func() {
						<-asked
						cancel()
					}()
				}
				sr, err := m.Stream(ctx, []*schema.Message{schema.UserMessage("go")})
				if (err == nil) != (said != "") {
					t.Fatalf("error %v", err)
				}
				if err == nil {
					if piece, err := sr.Recv(); err != nil || piece.Content != "One" {
						t.Errorf("%v, %v", piece, err)
					}
					cancel()
					if _, err := sr.Recv(); err == nil || ctx.Err() == nil {
						t.Errorf("it went on: %v", err)
					}
					sr.Close()
				}
				select {
				case <-gone:
				case <-time.After(10 * time.Second):
					t.Error("the server still answers")
				}
			})
		}
	}
}
