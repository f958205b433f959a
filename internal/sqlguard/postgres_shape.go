package sqlguard

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A pgShape is what a type of the parser's tree is made of.
type pgShape struct {
	of     reflect.Type        // the struct
	fields map[string]*pgField // by their names in JSON

	// Where in the struct there are messages: one, one of several, and lists.
	ones, members, lists []int
}

// A pgField is a field of a type of the parser's tree.
type pgField struct {
	index  int              // in the struct
	member reflect.Type     // of the struct around it, where only one of several is there
	list   bool             // of messages
	shape  *pgShape         // of messages
	names  map[string]int64 // of an enumeration
}

// pgShapes are the types of all that is in trees, by pointers to them. They are
// found out once, which takes some milliseconds.
var pgShapes = sync.OnceValue(func() map[reflect.Type]*pgShape { //nolint:gochecknoglobals // of the parser's types, which do not change
	all := map[reflect.Type]*pgShape{}
	pgShapeOf((&pgquery.ParseResult{}).ProtoReflect(), all)
	return all
})

func pgShapeOf(m protoreflect.Message, all map[reflect.Type]*pgShape) *pgShape {
	pointer := reflect.TypeOf(m.Interface())
	if s := all[pointer]; s != nil {
		return s
	}
	s := &pgShape{of: pointer.Elem(), fields: map[string]*pgField{}}
	all[pointer] = s
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		f := pgPlace(m, fd)
		s.fields[fd.JSONName()] = f
		switch {
		case fd.Enum() != nil:
			f.names = map[string]int64{}
			for k := range fd.Enum().Values().Len() {
				v := fd.Enum().Values().Get(k)
				f.names[string(v.Name())] = int64(v.Number())
			}
		case fd.Message() == nil:
		case fd.IsList():
			f.list = true
			f.shape = pgShapeOf(m.NewField(fd).List().NewElement().Message(), all)
			s.lists = append(s.lists, f.index)
		default:
			f.shape = pgShapeOf(m.NewField(fd).Message(), all)
			if f.member == nil {
				s.ones = append(s.ones, f.index)
			} else if !slices.Contains(s.members, f.index) {
				s.members = append(s.members, f.index)
			}
		}
	}
	return s
}

// pgPlace finds out where in the struct of m a field lies.
func pgPlace(m protoreflect.Message, fd protoreflect.FieldDescriptor) *pgField {
	of := reflect.TypeOf(m.Interface()).Elem()
	one := fd.ContainingOneof()
	for i := range of.NumField() {
		tag := of.Field(i).Tag
		if one != nil && tag.Get("protobuf_oneof") == string(one.Name()) {
			with := m.New()
			with.Set(fd, with.NewField(fd))
			member := reflect.ValueOf(with.Interface()).Elem().Field(i).Elem().Type().Elem()
			return &pgField{index: i, member: member}
		}
		if strings.Contains(tag.Get("protobuf")+",", ",name="+string(fd.Name())+",") {
			return &pgField{index: i}
		}
	}
	panic("no place for " + string(fd.FullName()))
}

// pgBelow calls visit for what is right below a node of a tree, until it
// returns false.
func pgBelow(m proto.Message, visit func(proto.Message) bool) {
	v := reflect.ValueOf(m)
	if v.IsNil() {
		return
	}
	s := pgShapes()[v.Type()]
	v = v.Elem()
	for _, i := range s.members {
		if x := v.Field(i); !x.IsNil() && !pgVisit(x.Elem().Elem().Field(0), visit) {
			return
		}
	}
	for _, i := range s.ones {
		if x := v.Field(i); !x.IsNil() && !pgVisit(x, visit) {
			return
		}
	}
	for _, i := range s.lists {
		x := v.Field(i)
		for k := range x.Len() {
			if !pgVisit(x.Index(k), visit) {
				return
			}
		}
	}
}

func pgVisit(v reflect.Value, visit func(proto.Message) bool) bool {
	m, ok := reflect.TypeAssert[proto.Message](v)
	if !ok {
		panic("no message: " + v.Type().String())
	}
	return visit(m)
}

// pgFind reports whether what is asked for is in a tree.
func pgFind(m proto.Message, wanted func(proto.Message) bool) bool {
	if wanted(m) {
		return true
	}
	found := false
	pgBelow(m, func(below proto.Message) bool {
		found = pgFind(below, wanted)
		return !found
	})
	return found
}
