package grpcbind

import (
	"encoding/base64"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// fill sets the fields of m to the members of b, which is ProtoJSON of its message. Members
// without a field are ignored, and like all methods of reader it accepts repeated names. It
// uses descriptors instead of generated fields, because few calls need it.
func (r *reader) fill(m protoreflect.Message, b []byte) {
	for name, v := range rawjson.Fields(b) {
		f := fieldOf(m.Descriptor(), name)
		switch {
		case f == nil || rawjson.KindOf(v) == rawjson.Null:
		case f.IsMap():
			m.Set(f, protoreflect.ValueOfMap(r.mapOf(m.NewField(f).Map(), f, v)))
		case f.IsList():
			l := m.NewField(f).List()
			for e := range rawjson.Elements(v) {
				l.Append(r.valueOf(l.NewElement(), f, e))
			}
			m.Set(f, protoreflect.ValueOfList(l))
		default:
			m.Set(f, r.valueOf(m.NewField(f), f, v))
		}
	}
}

// fieldOf returns the field for a member. The generated messages of v0.3 name the content of a
// message differently from the published proto, with the same encoding; and the requirements of
// a card have their shape under the name of v1.0.
func fieldOf(d protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	switch name {
	case "content":
		name = "parts"
	case "securityRequirements":
		name = "security"
	case "security":
		return nil
	}
	return d.Fields().ByJSONName(name)
}

func (r *reader) mapOf(m protoreflect.Map, f protoreflect.FieldDescriptor, v []byte) protoreflect.Map {
	for name, v := range rawjson.Fields(v) {
		m.Set(protoreflect.ValueOfString(name).MapKey(), r.valueOf(m.NewValue(), f.MapValue(), v))
	}
	return m
}

// valueOf returns the value of one element of a field. empty is a new value of its type.
func (r *reader) valueOf(empty protoreflect.Value, f protoreflect.FieldDescriptor, v []byte) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.MessageKind:
		return r.messageOf(empty, v)
	case protoreflect.EnumKind:
		if e := f.Enum().Values().ByName(protoreflect.Name(text(v))); e != nil {
			return protoreflect.ValueOfEnum(e.Number())
		}
		return empty
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(truth(v))
	case protoreflect.Int32Kind:
		n, err := a2ajson.ReadInt(v)
		r.note(f, err)
		return protoreflect.ValueOfInt32(int32(n))
	case protoreflect.BytesKind:
		raw, err := base64.StdEncoding.DecodeString(text(v))
		r.note(f, err)
		return protoreflect.ValueOfBytes(raw)
	default:
		return protoreflect.ValueOfString(text(v))
	}
}

func (r *reader) messageOf(empty protoreflect.Value, v []byte) protoreflect.Value {
	m := empty.Message()
	switch m.Interface().(type) {
	case *structpb.Struct:
		return protoreflect.ValueOfMessage(object(v).ProtoReflect())
	case *timestamppb.Timestamp:
		return protoreflect.ValueOfMessage(r.timestamp(v).ProtoReflect())
	}
	r.fill(m, v)
	return empty
}

func (r *reader) timestamp(v []byte) *timestamppb.Timestamp {
	at, err := time.Parse(time.RFC3339, text(v))
	if err != nil {
		r.fail("timestamp", err)
	}
	return timestamppb.New(at)
}

func (r *reader) note(f protoreflect.FieldDescriptor, err error) {
	if err != nil {
		r.fail(string(f.Name()), err)
	}
}

// filled returns m filled with b.
func filled[M proto.Message](m M, b []byte) (M, error) {
	var r reader
	r.fill(m.ProtoReflect(), b)
	return m, r.err
}
