package datasource

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// imagesMagic begins encoded images, with the number of their form.
const imagesMagic = "DMI1"

// The kinds of values. A row that is not there has a kind of its own.
const (
	imageNull    = 'n'
	imageInteger = 'i'
	imageReal    = 'r'
	imageText    = 't'
	imageBytes   = 'b'
	imageNoRow   = '-'
	imageRow     = '+'
)

// MarshalBinary writes im so that every value reads back as what it is: JSON has
// no bytes, no text that is not UTF-8 and no large integers.
func (im Images) MarshalBinary() ([]byte, error) {
	b := binary.AppendUvarint([]byte(imagesMagic), uint64(len(im.Tables)))
	for _, t := range im.Tables {
		b = appendImageText(b, t.Table)
		b = append(b, imageFlag(t.Cascade))
		b = appendImageText(b, t.Shape)
		b = binary.AppendUvarint(b, uint64(len(t.Columns)))
		for _, c := range t.Columns {
			b = appendImageText(b, c)
		}
		b = binary.AppendUvarint(b, uint64(len(t.Key)))
		for _, k := range t.Key {
			b = binary.AppendUvarint(b, uint64(k)) //nolint:gosec // a place in a list
		}
		b = binary.AppendUvarint(b, uint64(len(t.Rows)))
		for _, r := range t.Rows {
			b = appendImageRow(b, r.Before)
			b = appendImageRow(b, r.After)
		}
	}
	return b, nil
}

func imageFlag(on bool) byte {
	if on {
		return 1
	}
	return 0
}

func appendImageText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendImageRow(b []byte, row []any) []byte {
	if row == nil {
		return append(b, imageNoRow)
	}
	b = append(b, imageRow)
	for _, v := range row {
		b = appendImageValue(b, v)
	}
	return b
}

// appendImageValue writes a value so that no two read alike.
func appendImageValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case int64:
		return binary.AppendVarint(append(b, imageInteger), v)
	case float64:
		return binary.BigEndian.AppendUint64(append(b, imageReal), math.Float64bits(v))
	case string:
		return appendImageText(append(b, imageText), v)
	case []byte:
		return append(binary.AppendUvarint(append(b, imageBytes), uint64(len(v))), v...)
	}
	return append(b, imageNull)
}

// errImages says that encoded images are damaged.
const errImages = Error("the kept rows are damaged")

// UnmarshalBinary reads what MarshalBinary wrote, and nothing else.
func (im *Images) UnmarshalBinary(data []byte) error {
	if len(data) < len(imagesMagic) || string(data[:len(imagesMagic)]) != imagesMagic {
		return fmt.Errorf("%w: they are of no form that is known", errImages)
	}
	r := imageReader{data: data[len(imagesMagic):]}
	var tables []TableImage
	for range r.count() {
		if tables = append(tables, r.table()); r.failed {
			return errImages
		}
	}
	if r.failed || len(r.data) > 0 {
		return errImages
	}
	im.Tables = tables
	return nil
}

// An imageReader reads parts of encoded images. After a fault it reads nothing.
type imageReader struct {
	data   []byte
	failed bool
}

func (r *imageReader) table() TableImage {
	t := TableImage{Table: r.text(), Cascade: r.byte() == 1, Shape: r.text()}
	for range r.count() {
		t.Columns = append(t.Columns, r.text())
	}
	isKey := make([]bool, len(t.Columns))
	for range r.count() {
		k := r.count()
		if k >= len(t.Columns) || isKey[k] {
			r.fail()
			return t
		}
		isKey[k] = true
		t.Key = append(t.Key, k)
	}
	for range r.count() {
		row := RowImage{Before: r.row(len(t.Columns)), After: r.row(len(t.Columns))}
		if r.failed {
			return t
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (r *imageReader) row(width int) []any {
	switch r.byte() {
	case imageNoRow:
		return nil
	case imageRow:
		row := make([]any, 0, min(width, len(r.data)))
		for range width {
			row = append(row, r.value())
		}
		return row
	}
	r.fail()
	return nil
}

func (r *imageReader) value() any {
	switch r.byte() {
	case imageNull:
		return nil
	case imageInteger:
		v, n := binary.Varint(r.data)
		if n <= 0 {
			r.fail()
			return nil
		}
		r.data = r.data[n:]
		return v
	case imageReal:
		if b := r.take(8); b != nil {
			return math.Float64frombits(binary.BigEndian.Uint64(b))
		}
		return nil
	case imageText:
		return r.text()
	case imageBytes:
		return slices.Clone(r.take(r.count()))
	}
	r.fail()
	return nil
}

func (r *imageReader) text() string { return string(r.take(r.count())) }

// count reads the number of parts that follow, each of which takes a byte at
// least.
func (r *imageReader) count() int {
	v, n := binary.Uvarint(r.data)
	if r.failed || n <= 0 || v > uint64(len(r.data)) {
		r.fail()
		return 0
	}
	r.data = r.data[n:]
	return int(v) //nolint:gosec // not more than there are bytes
}

func (r *imageReader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *imageReader) take(n int) []byte {
	if r.failed || n > len(r.data) {
		r.fail()
		return nil
	}
	b := r.data[:n:n]
	r.data = r.data[n:]
	return b
}

func (r *imageReader) fail() { r.failed, r.data = true, nil }
