package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"crossbridge.dev/sdk/go/internal/check"
)

// Misfit is a document that is not of the type: where, by JSON Pointer, and why.
type Misfit struct{ Pointer, Problem string }

func (m *Misfit) Error() string {
	at := m.Pointer
	if at == "" {
		at = "the document"
	}
	return at + ": " + m.Problem
}

// Read reads a document into a value, fills in the defaults of absent fields, and misses those that are required.
func Read(text []byte, into any) *Misfit {
	value := reflect.ValueOf(into).Elem()
	if err := decode(text, into); err != nil {
		if misfit := locate(text, value.Type(), ""); misfit != nil {
			return misfit
		}
		return &Misfit{Problem: problem(err)}
	}
	return complete(text, value, "")
}

func decode(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	// Integers of any size stay exact where the type is any.
	decoder.UseNumber()
	return decoder.Decode(into)
}

// problem says what is wrong without the value, which may be long or secret.
func problem(err error) string {
	if mismatch, ok := err.(*json.UnmarshalTypeError); ok {
		what, _, _ := strings.Cut(mismatch.Value, " ")
		return fmt.Sprintf("a %s is no %s", what, mismatch.Type)
	}
	return err.Error()
}

// locate finds the innermost part that does not fit.
func locate(text json.RawMessage, of reflect.Type, at string) *Misfit {
	fresh := reflect.New(of)
	err := decode(text, fresh.Interface())
	if err == nil {
		return nil
	}
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch of.Kind() {
	case reflect.Struct:
		var members map[string]json.RawMessage
		fields, wrong := Fields(of)
		if wrong != nil || json.Unmarshal(text, &members) != nil {
			break
		}
		for _, field := range fields {
			member, has := members[field.Name]
			if !has {
				continue
			}
			if misfit := locate(member, field.Type, at+"/"+check.EscapePointer(field.Name)); misfit != nil {
				return misfit
			}
		}
	case reflect.Slice, reflect.Array:
		var items []json.RawMessage
		if json.Unmarshal(text, &items) != nil {
			break
		}
		for i, item := range items {
			if misfit := locate(item, of.Elem(), at+"/"+strconv.Itoa(i)); misfit != nil {
				return misfit
			}
		}
	case reflect.Map:
		var members map[string]json.RawMessage
		if json.Unmarshal(text, &members) != nil {
			break
		}
		for key, member := range members {
			if misfit := locate(member, of.Elem(), at+"/"+check.EscapePointer(key)); misfit != nil {
				return misfit
			}
		}
	}
	return &Misfit{Pointer: at, Problem: problem(err)}
}

// complete fills in defaults, and finds what is required and absent. The text fits the type.
func complete(text json.RawMessage, value reflect.Value, at string) *Misfit {
	for value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return nil
		}
		value = value.Elem()
	}
	switch value.Kind() {
	case reflect.Struct:
		return completeObject(text, value, at)
	case reflect.Slice, reflect.Array:
		var items []json.RawMessage
		if value.Type() == rawType || json.Unmarshal(text, &items) != nil || len(items) > value.Len() {
			return nil
		}
		for i, item := range items {
			if misfit := complete(item, value.Index(i), at+"/"+strconv.Itoa(i)); misfit != nil {
				return misfit
			}
		}
	case reflect.Map:
		var members map[string]json.RawMessage
		if value.Type().Elem().Kind() == reflect.Interface || json.Unmarshal(text, &members) != nil {
			return nil
		}
		for key, member := range members {
			// An element of a map cannot be changed in place.
			element := reflect.New(value.Type().Elem()).Elem()
			element.Set(value.MapIndex(reflect.ValueOf(key).Convert(value.Type().Key())))
			if misfit := complete(member, element, at+"/"+check.EscapePointer(key)); misfit != nil {
				return misfit
			}
			value.SetMapIndex(reflect.ValueOf(key).Convert(value.Type().Key()), element)
		}
	}
	return nil
}

func completeObject(text json.RawMessage, value reflect.Value, at string) *Misfit {
	if value.Type() == timeType {
		return nil
	}
	var members map[string]json.RawMessage
	fields, err := Fields(value.Type())
	if err != nil || json.Unmarshal(text, &members) != nil {
		return nil
	}
	for _, field := range fields {
		here := at + "/" + check.EscapePointer(field.Name)
		inner := value.FieldByIndex(field.Index)
		member, has := members[field.Name]
		switch {
		case has && string(member) != "null":
			if misfit := complete(member, inner, here); misfit != nil {
				return misfit
			}
		case field.Default != nil:
			// Checked when the schema was derived.
			_ = json.Unmarshal(field.Default, inner.Addr().Interface())
		case field.Required:
			return &Misfit{Pointer: here, Problem: "it is required"}
		}
	}
	return nil
}

// Write writes a value as a JSON object without the members that are null, and without what stands at the paths.
func Write(value any, without []string) (map[string]any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := decode(text, &object); err != nil || object == nil {
		return nil, fmt.Errorf("%T is no JSON object", value)
	}
	stripNulls(object)
	for _, path := range without {
		segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
		remove(object, segments)
	}
	return object, nil
}

func stripNulls(value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			if member == nil {
				delete(value, key)
			}
			stripNulls(member)
		}
	case []any:
		for _, item := range value {
			stripNulls(item)
		}
	}
}

// remove takes out what stands at a path, where * stands for any index or key.
func remove(value any, path []string) {
	name := check.UnescapePointer(path[0])
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			if name != "*" && key != name {
				continue
			}
			if len(path) == 1 {
				delete(value, key)
			} else {
				remove(member, path[1:])
			}
		}
	case []any:
		for i := range value {
			if len(path) == 1 {
				// An item cannot be taken out without moving the others.
				value[i] = nil
			} else {
				remove(value[i], path[1:])
			}
		}
	}
}

// At is what stands at a JSON Pointer of a document; nil: nothing.
func At(document map[string]any, pointer string) any {
	var at any = document
	for segment := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch value := at.(type) {
		case map[string]any:
			at = value[check.UnescapePointer(segment)]
		case []any:
			i, err := strconv.Atoi(segment)
			if err != nil || i < 0 || i >= len(value) {
				return nil
			}
			at = value[i]
		default:
			return nil
		}
	}
	return at
}

// Object reads the text of one JSON object.
func Object(text string) (map[string]any, error) {
	var object map[string]any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		if _, isType := err.(*json.UnmarshalTypeError); isType {
			return nil, fmt.Errorf("it is another JSON value")
		}
		return nil, err
	}
	if object == nil {
		return nil, fmt.Errorf("it is another JSON value")
	}
	if decoder.More() {
		return nil, fmt.Errorf("something follows the object")
	}
	return object, nil
}
