package web

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
)

// A query holds a request's parameters. Its methods note the first that is
// wrong, for err.
type query struct {
	values url.Values
	wrong  error
}

// queryOf reads the parameters of a request: the allowed ones, each once. Only a
// decision may be there several times, each time another one.
func queryOf(c echo.Context, allowed ...string) *query {
	q := &query{}
	values, err := url.ParseQuery(c.Request().URL.RawQuery)
	if err != nil {
		q.wrong = invalid("the part of the address behind ? can't be read")
		return q
	}
	for name, v := range values {
		switch {
		case !slices.Contains(allowed, name):
			q.wrong = invalid("unknown parameter %.40q; this address takes %s", name, strings.Join(allowed, ", "))
		case len(v) > 1 && name != "decision":
			q.wrong = invalid("the parameter %s is there twice", name)
		}
	}
	q.values = values
	return q
}

// err returns what is wrong, if anything.
func (q *query) err() error { return q.wrong }

// text returns a parameter of at most limit characters, none of them a control
// character.
func (q *query) text(name string, limit int) string {
	v := q.values.Get(name)
	if !utf8.ValidString(v) || utf8.RuneCountInString(v) > limit || control(v, "") >= 0 {
		q.fail("the parameter %s has to be text of at most %d characters", name, limit)
		return ""
	}
	return v
}

// oneOf returns a parameter that is one of words, or "" where it is missing.
func (q *query) oneOf(name string, words ...string) string {
	v := q.values.Get(name)
	if v != "" && !slices.Contains(words, v) {
		q.fail("the parameter %s is one of %s", name, strings.Join(words, ", "))
		return ""
	}
	return v
}

// someOf returns all values of a parameter, each one of words.
func (q *query) someOf(name string, words ...string) (list []string) {
	for _, v := range q.values[name] {
		switch {
		case v == "" || slices.Contains(list, v):
		case !slices.Contains(words, v):
			q.fail("the parameter %s is one of %s", name, strings.Join(words, ", "))
		default:
			list = append(list, v)
		}
	}
	return list
}

// number returns a parameter that is the number of a record or an event, at
// least low, or 0 where it is missing. Both are stored in 63 bits.
func (q *query) number(name string, low uint64) uint64 {
	v := q.values.Get(name)
	if v == "" {
		return 0
	}
	n, err := strconv.ParseUint(v, 10, 63)
	if err != nil || n < low {
		q.fail("the parameter %s has to be a number from %d", name, low)
		return 0
	}
	return n
}

// limit returns the parameter limit, which is at most most.
func (q *query) limit(most, missing int) int {
	v := q.values.Get("limit")
	if v == "" {
		return missing
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > most {
		q.fail("the parameter limit has to be a number from 1 to %d", most)
		return missing
	}
	return n
}

// time returns a parameter that is a time, as RFC 3339 or as a date, in UTC, or
// the zero time where it is missing.
func (q *query) time(name string) time.Time {
	v := q.values.Get(name)
	if v == "" {
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, v); err == nil {
			return t
		}
	}
	q.fail("the parameter %s has to be a time like 2006-01-02T15:04:05Z or a date like 2006-01-02", name)
	return time.Time{}
}

func (q *query) fail(format string, args ...any) {
	if q.wrong == nil {
		q.wrong = invalid(format, args...)
	}
}
