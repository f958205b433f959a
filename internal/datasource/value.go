package datasource

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// maxSafeInteger is the largest integer that every reader of JSON keeps exact.
const maxSafeInteger = 1<<53 - 1

// AppendValues appends rows as a JSON array of arrays to b.
func AppendValues(b []byte, rows [][]any) []byte {
	b = append(b, '[')
	for i, row := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendRow(b, row)
	}
	return append(b, ']')
}

func appendRow(b []byte, row []any) []byte {
	b = append(b, '[')
	for i, v := range row {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendValue(b, v)
	}
	return append(b, ']')
}

// AppendValue appends a database value as JSON to b: an integer as a number, or
// as a string beyond 2⁵³; a real number in the shortest form that reads back the
// same, infinity as the string "Infinity", what is no number as "NaN"; text as a
// string; bytes, and text that is not UTF-8, as {"blob":"base64"}.
func AppendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case int64:
		return appendInteger(b, v)
	case uint64:
		if v > maxSafeInteger {
			return append(strconv.AppendUint(append(b, '"'), v, 10), '"')
		}
		return strconv.AppendUint(b, v, 10)
	case float64:
		return appendReal(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case string:
		if !utf8.ValidString(v) {
			return appendBlob(b, []byte(v))
		}
		return appendText(b, v)
	case []byte:
		return appendBlob(b, v)
	case json.Number:
		return append(b, v...)
	}
	return append(b, "null"...)
}

func appendInteger(b []byte, v int64) []byte {
	if v > maxSafeInteger || v < -maxSafeInteger {
		b = append(b, '"')
		return append(strconv.AppendInt(b, v, 10), '"')
	}
	return strconv.AppendInt(b, v, 10)
}

// appendReal keeps a real number apart from an integer: 2.0 stays 2.0.
func appendReal(b []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(b, `"-Infinity"`...)
	case math.IsNaN(v): // PostgreSQL has it; SQLite makes NULL of it
		return append(b, `"NaN"`...)
	}
	start := len(b)
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e17) {
		format = 'e'
	}
	b = strconv.AppendFloat(b, v, format, -1, 64)
	for _, c := range b[start:] {
		if c == '.' || c == 'e' {
			return b
		}
	}
	return append(b, ".0"...)
}

func appendText(b []byte, v string) []byte {
	text, err := json.Marshal(v) // escapes HTML: the text may end up inside a page
	if err != nil {
		return append(b, "null"...) // a string always marshals
	}
	return append(b, text...)
}

func appendBlob(b, v []byte) []byte {
	b = append(b, `{"blob":"`...)
	b = base64.StdEncoding.AppendEncode(b, v)
	return append(b, `"}`...)
}

// decodeBlob returns the bytes of {"blob":"base64"}.
func decodeBlob(v map[string]any) any {
	text, ok := v["blob"].(string)
	if !ok {
		return nil
	}
	blob, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return blob
}

// storageClass names how SQLite stores a value; "" for NULL.
func storageClass(v any) string {
	switch v.(type) {
	case int64:
		return "INTEGER"
	case float64:
		return "REAL"
	case string:
		return "TEXT"
	case []byte:
		return "BLOB"
	}
	return ""
}
