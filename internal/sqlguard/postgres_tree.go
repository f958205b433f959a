package sqlguard

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// maxTree bounds the levels of a tree of PostgreSQL's. A statement that may be
// deeper is refused before: see [maxRun].
const maxTree = 10_000

var errTree = errors.New("the parser's tree cannot be read")

// pgParse parses a text. It is [pgquery.Parse] by another way: the parser writes
// its tree as JSON in a quarter of the time that it takes as protobuf. What is
// not known here, or not written as the parser writes it, is an error.
func pgParse(text string) (*pgquery.ParseResult, error) {
	written, err := pgquery.ParseToJSON(text)
	if err != nil {
		return nil, err
	}
	d := pgReader{text: written}
	tree := &pgquery.ParseResult{}
	d.message(pgShapes()[reflect.TypeOf(tree)], reflect.ValueOf(tree).Elem())
	if d.failed || d.at != len(d.text) || !utf8.ValidString(written) {
		return nil, fmt.Errorf("%w: at byte %d of %d", errTree, d.at, len(d.text))
	}
	return tree, nil
}

// A pgReader reads a tree as the parser writes it, without blanks.
type pgReader struct {
	text   string
	at     int
	level  int
	failed bool
}

// fail makes all that follows fail, and returns nothing.
func (d *pgReader) fail() { d.failed = true }

// take reads one character, if it is the next one.
func (d *pgReader) take(c byte) bool {
	if d.failed || d.at >= len(d.text) || d.text[d.at] != c {
		return false
	}
	d.at++
	return true
}

// want reads one character, which has to be there.
func (d *pgReader) want(c byte) {
	if !d.take(c) {
		d.fail()
	}
}

// message reads an object into a struct of the tree.
func (d *pgReader) message(s *pgShape, into reflect.Value) {
	if d.level++; d.level > maxTree {
		d.fail()
	}
	d.want('{')
	for !d.take('}') {
		f := s.fields[d.string()]
		d.want(':')
		if f == nil || d.failed {
			d.fail()
			return
		}
		d.field(f, into)
		if !d.take(',') && (d.at >= len(d.text) || d.text[d.at] != '}') {
			d.fail()
			return
		}
	}
	d.level--
}

// field reads the value of a field.
func (d *pgReader) field(f *pgField, into reflect.Value) {
	v := into.Field(f.index)
	if f.member != nil { // of those of which there is only one
		member := reflect.New(f.member)
		v.Set(member)
		v = member.Elem().Field(0)
	}
	switch {
	case f.names != nil:
		n, ok := f.names[d.string()]
		if !ok {
			d.fail()
		}
		v.SetInt(n)
	case f.list:
		d.list(f, v)
	case f.shape != nil:
		one := reflect.New(f.shape.of)
		d.message(f.shape, one.Elem())
		v.Set(one)
	default:
		d.scalar(v)
	}
}

// list reads a list of messages.
func (d *pgReader) list(f *pgField, v reflect.Value) {
	d.want('[')
	if d.take(']') {
		return
	}
	nodes, ok := reflect.TypeAssert[*[]*pgquery.Node](v.Addr()) // nearly all are
	for !d.failed {
		if ok {
			n := &pgquery.Node{}
			d.message(f.shape, reflect.ValueOf(n).Elem())
			*nodes = append(*nodes, n)
		} else {
			one := reflect.New(f.shape.of)
			d.message(f.shape, one.Elem())
			v.Set(reflect.Append(v, one))
		}
		if d.take(']') {
			return
		}
		d.want(',')
	}
}

// scalar reads a string, a number or a truth.
func (d *pgReader) scalar(v reflect.Value) {
	switch v.Kind() { //nolint:exhaustive // pgShapes has no others
	case reflect.String:
		v.SetString(d.string())
	case reflect.Bool:
		truth := strings.HasPrefix(d.text[d.at:], "true")
		if !truth && !strings.HasPrefix(d.text[d.at:], "false") {
			d.fail()
			return
		}
		d.at += len(strconv.FormatBool(truth))
		v.SetBool(truth)
	case reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(d.number(), 10, v.Type().Bits())
		if err != nil {
			d.fail()
		}
		v.SetInt(n)
	case reflect.Uint32, reflect.Uint64:
		n, err := strconv.ParseUint(d.number(), 10, v.Type().Bits())
		if err != nil {
			d.fail()
		}
		v.SetUint(n)
	default:
		d.fail()
	}
}

// number reads the digits of a number.
func (d *pgReader) number() string {
	start := d.at
	d.take('-')
	d.at = run(d.text, d.at, isDigit)
	return d.text[start:d.at]
}

// string reads a string. It is a part of the text, unless something in it is
// escaped.
func (d *pgReader) string() string {
	d.want('"')
	start, escaped := d.at, false
	for d.at < len(d.text) && d.text[d.at] != '"' {
		if d.text[d.at] == '\\' {
			escaped = true
			d.at++
		}
		d.at++
	}
	if d.failed || d.at >= len(d.text) {
		d.fail()
		return ""
	}
	d.at++
	if !escaped {
		return d.text[start : d.at-1]
	}
	var s string
	if err := json.Unmarshal([]byte(d.text[start-1:d.at]), &s); err != nil {
		d.fail()
	}
	return s
}
