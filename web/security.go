package web

import (
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/agent"
)

// policy lets a page load what this server serves, and nothing else: what a
// model or a table says can't bring in code, and can't carry anything out.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// headers sets what every answer carries. Whoever serves something that may be
// kept says so.
func headers(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		// Not no-referrer, with which browsers send "Origin: null" along with our
		// own forms.
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		return next(c)
	}
}

// sameSite refuses what a page of another site makes a browser send. A program
// that is no browser sends neither header and passes.
func sameSite(p *http.CrossOriginProtection) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if err := p.Check(c.Request()); err != nil {
				return agent.Wrap(agent.CodeForbidden, err, "this request came from another site; nothing was done")
			}
			return next(c)
		}
	}
}

// hosts are the names that the server answers to. A browser that was led here
// under any other name, by DNS rebinding, is on somebody else's page.
type hosts map[string]bool

// hostsOf returns the names of this machine for itself, and the host of the
// address that the server listens on unless that means all of them.
func hostsOf(addr string) (hosts, error) {
	h := hosts{"localhost": true, "127.0.0.1": true, "::1": true}
	name, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		if !ip.IsUnspecified() {
			h[ip.String()] = true
		}
	} else if name != "" {
		h[strings.ToLower(name)] = true
	}
	return h, nil
}

// allow reports whether a Host header names this server. Its port is not looked
// at: behind a forwarded port it is another than ours, and a page of another
// port does not get past [sameSite].
func (h hosts) allow(header string) bool {
	name := header
	if i := strings.LastIndexByte(header, ':'); i >= 0 && !strings.HasSuffix(header, "]") {
		name = header[:i]
		if _, err := strconv.ParseUint(header[i+1:], 10, 16); err != nil {
			return false
		}
	}
	if inner, ok := strings.CutPrefix(name, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		ip, err := netip.ParseAddr(inner)
		return ok && err == nil && ip.Is6() && ip.Zone() == "" && h[ip.String()]
	}
	return !strings.Contains(name, ":") && h[strings.ToLower(name)]
}

// ownHost refuses requests for other hosts.
func ownHost(h hosts) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if !h.allow(c.Request().Host) {
				return agent.Errorf(agent.CodeForbidden, "this server does not answer to the host name of the request")
			}
			return next(c)
		}
	}
}
