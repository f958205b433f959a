package web

import (
	"net"
	"strings"

	"github.com/labstack/echo/v4"
)

// origin says where a request comes from, for the record of an answer: the
// address of the connection and what kind of program sent it. What a header
// claims about the address is not looked at: anybody can write that.
func origin(c echo.Context) string {
	r := c.Request()
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	agent, kind := r.UserAgent(), "a program"
	switch browser := strings.HasPrefix(agent, "Mozilla/"); {
	case browser && strings.Contains(agent, "Mobile"):
		kind = "a browser on a phone"
	case browser:
		kind = "a browser"
	}
	return host + ", " + kind
}
