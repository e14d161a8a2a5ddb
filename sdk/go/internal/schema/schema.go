// Package schema derives structural OpenAPI v3 schemas, and rules of fields, from Go types and their tags.
package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"crossbridge.dev/sdk/go/internal/check"
	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

// RuleTag is the tag that holds the rules of a field.
const RuleTag = "crossbridge"

const (
	keepUnknown = "x-kubernetes-preserve-unknown-fields"
	extension   = "x-kubernetes-"
)

var (
	timeType      = reflect.TypeFor[time.Time]()
	rawType       = reflect.TypeFor[json.RawMessage]()
	numberType    = reflect.TypeFor[json.Number]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
)

// Derived is what a type says of its documents.
type Derived struct {
	Schema map[string]any
	// Rules of its fields, by path.
	Rules []*pb.FieldRule
}

// Field of a struct, as its documents have it.
type Field struct {
	Name     string
	Type     reflect.Type
	Index    []int
	Required bool
	// Default is the JSON text of what an absent field means; nil: no opinion.
	Default json.RawMessage
	tag     reflect.StructTag
	goName  string
}

// Of derives the schema of a type, which must be a struct, or a map of strings to anything.
func Of(of reflect.Type) (*Derived, error) {
	derived := &Derived{}
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	schema, err := derived.node(of, "", nil)
	if err != nil {
		return nil, err
	}
	if schema["type"] != "object" {
		return nil, fmt.Errorf("%s is no object: write a struct", of)
	}
	derived.Schema = schema
	return derived, nil
}

// node is the schema of a type at a path; within are the structs around it.
func (d *Derived) node(of reflect.Type, path string, within []reflect.Type) (map[string]any, error) {
	switch of {
	case timeType:
		return map[string]any{"type": "string", "format": "date-time"}, nil
	case rawType:
		return map[string]any{keepUnknown: true}, nil
	case numberType:
		return map[string]any{"type": "number"}, nil
	}
	isStruct := of.Kind() == reflect.Struct
	for _, self := range []reflect.Type{of, reflect.PointerTo(of)} {
		if self.Implements(jsonMarshaler) && of.Kind() != reflect.Pointer {
			return nil, fmt.Errorf("%s writes its JSON by itself, so that no schema can be derived: use a plain type, or json.RawMessage for any value", of)
		}
		if self.Implements(textMarshaler) && of.Kind() != reflect.Pointer {
			return map[string]any{"type": "string"}, nil
		}
	}
	if isStruct {
		return d.object(of, path, within)
	}
	switch of.Kind() {
	case reflect.Pointer:
		return d.node(of.Elem(), path, within)
	case reflect.String:
		return map[string]any{"type": "string"}, nil
	case reflect.Bool:
		return map[string]any{"type": "boolean"}, nil
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer", "format": "int64"}, nil
	case reflect.Int32:
		return map[string]any{"type": "integer", "format": "int32"}, nil
	case reflect.Int8, reflect.Int16:
		highest := int64(1)<<(of.Bits()-1) - 1
		return map[string]any{"type": "integer", "minimum": -highest - 1, "maximum": highest}, nil
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return map[string]any{"type": "integer", "minimum": int64(0), "maximum": int64(1)<<of.Bits() - 1}, nil
	case reflect.Uint, reflect.Uint64, reflect.Uintptr:
		return map[string]any{"type": "integer", "minimum": int64(0)}, nil
	case reflect.Float32:
		return map[string]any{"type": "number", "format": "float"}, nil
	case reflect.Float64:
		return map[string]any{"type": "number", "format": "double"}, nil
	case reflect.Slice, reflect.Array:
		if of.Elem().Kind() == reflect.Uint8 && of.Kind() == reflect.Slice {
			return map[string]any{"type": "string", "format": "byte"}, nil
		}
		items, err := d.node(of.Elem(), path+"/*", within)
		return map[string]any{"type": "array", "items": items}, err
	case reflect.Map:
		if of.Key().Kind() != reflect.String {
			return nil, fmt.Errorf("%s: the keys of a map are strings in JSON", of)
		}
		values, err := d.node(of.Elem(), path+"/*", within)
		if err == nil && len(values) == 1 && values[keepUnknown] == true {
			return map[string]any{"type": "object", keepUnknown: true}, nil
		}
		return map[string]any{"type": "object", "additionalProperties": values}, err
	case reflect.Interface:
		if of.NumMethod() == 0 {
			return map[string]any{keepUnknown: true}, nil
		}
		return nil, fmt.Errorf("%s is an interface, whose values are of several types: a field has one type, or is any", of)
	}
	return nil, fmt.Errorf("%s has no JSON", of)
}

func (d *Derived) object(of reflect.Type, path string, within []reflect.Type) (map[string]any, error) {
	if slices.Contains(within, of) {
		return nil, fmt.Errorf("%s contains itself, which a CRD cannot express: use json.RawMessage there", of)
	}
	within = append(slices.Clone(within), of)
	fields, err := Fields(of)
	if err != nil {
		return nil, err
	}
	schema := map[string]any{"type": "object"}
	if blank, has := of.FieldByName("_"); has && blank.Tag.Get("doc") != "" {
		schema["description"] = blank.Tag.Get("doc")
	}
	properties := map[string]any{}
	var required []any
	for _, field := range fields {
		at := path + "/" + check.EscapePointer(field.Name)
		if properties[field.Name] != nil {
			return nil, fmt.Errorf("two fields of %s are named %q", of.Name(), field.Name)
		}
		property, err := d.node(field.Type, at, within)
		if err == nil {
			err = keywords(property, field)
		}
		if err == nil {
			err = d.rules(field, at)
		}
		if err != nil {
			return nil, fmt.Errorf("field %s (%s.%s): %w", field.Name, of.Name(), field.goName, err)
		}
		properties[field.Name] = property
		if field.Required {
			required = append(required, field.Name)
		}
	}
	if len(properties) > 0 {
		schema["properties"] = properties
	}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema, nil
}

// known are the fields of the types that were asked for: they are asked for in every call.
var known sync.Map

// Fields of a struct that its documents have; those of embedded structs stand among them.
func Fields(of reflect.Type) ([]Field, error) {
	if fields, has := known.Load(of); has {
		return fields.([]Field), nil
	}
	fields, err := fieldsOf(of)
	if err == nil {
		known.Store(of, fields)
	}
	return fields, err
}

func fieldsOf(of reflect.Type) ([]Field, error) {
	var fields []Field
	for i := range of.NumField() {
		field := of.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" {
			inner := field.Type
			if inner.Kind() == reflect.Struct {
				embedded, err := Fields(inner)
				if err != nil {
					return nil, err
				}
				for _, below := range embedded {
					below.Index = append([]int{i}, below.Index...)
					fields = append(fields, below)
				}
				continue
			}
			return nil, fmt.Errorf("%s.%s is embedded and no struct: name it", of.Name(), field.Name)
		}
		if !field.IsExported() || name == "-" && options == "" {
			continue
		}
		if name == "" {
			return nil, fmt.Errorf("%s.%s has no name in JSON: write a tag such as `json:\"%s\"`", of.Name(), field.Name, camelCase(field.Name))
		}
		fallback, hasDefault := field.Tag.Lookup("default")
		all := strings.Split(options, ",")
		if slices.Contains(all, "string") {
			return nil, fmt.Errorf("%s.%s: the option string of the json tag is not supported", of.Name(), field.Name)
		}
		read := Field{
			Name: name, Type: field.Type, Index: []int{i}, tag: field.Tag, goName: field.Name,
			Required: field.Type.Kind() != reflect.Pointer && !hasDefault && !slices.Contains(all, "omitempty") && !slices.Contains(all, "omitzero"),
		}
		if hasDefault {
			value, err := literal(field.Type, fallback)
			if err != nil {
				return nil, fmt.Errorf("%s.%s: default: %w", of.Name(), field.Name, err)
			}
			read.Default = value
		}
		fields = append(fields, read)
	}
	return fields, nil
}

// literal is the JSON of what a tag holds: a text as it stands, anything else as JSON.
func literal(of reflect.Type, text string) (json.RawMessage, error) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	value := json.RawMessage(text)
	if of.Kind() == reflect.String || of == timeType {
		value, _ = json.Marshal(text)
	}
	if err := json.Unmarshal(value, reflect.New(of).Interface()); err != nil {
		return nil, fmt.Errorf("%q is no %s", text, of)
	}
	return value, nil
}

func camelCase(name string) string { return strings.ToLower(name[:1]) + name[1:] }

// keywords adds what the tags of a field say of its values.
func keywords(schema map[string]any, field Field) error {
	tags, err := parseTag(field.tag)
	if err != nil {
		return err
	}
	for _, tag := range tags {
		switch {
		case tag.key == "doc":
			schema["description"] = tag.value
		case tag.key == "format", tag.key == "pattern":
			schema[tag.key] = tag.value
		case tag.key == "enum":
			var values []any
			for text := range strings.SplitSeq(tag.value, ",") {
				value, err := literal(field.Type, text)
				if err != nil {
					return fmt.Errorf("enum: %w", err)
				}
				values = append(values, value)
			}
			schema["enum"] = values
		case tag.key == "default":
			schema["default"] = field.Default
		case slices.Contains([]string{"minimum", "maximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}, tag.key):
			if _, err := strconv.ParseFloat(tag.value, 64); err != nil {
				return fmt.Errorf("%s: %q is no number", tag.key, tag.value)
			}
			schema[tag.key] = json.RawMessage(tag.value)
		case strings.HasPrefix(tag.key, extension):
			if err := extend(schema, tag); err != nil {
				return err
			}
		}
	}
	return nil
}

func extend(schema map[string]any, tag keyValue) error {
	switch strings.TrimPrefix(tag.key, extension) {
	case "list-type", "map-type":
		schema[tag.key] = tag.value
	case "list-map-keys":
		schema[tag.key] = strings.Split(tag.value, ",")
	case "int-or-string":
		// Kubernetes wants no type beside it.
		delete(schema, "type")
		delete(schema, "format")
		schema[tag.key] = true
	case "embedded-resource", "preserve-unknown-fields":
		schema[tag.key] = true
	case "validations":
		if !json.Valid([]byte(tag.value)) {
			return fmt.Errorf("%s is no JSON", tag.key)
		}
		schema[tag.key] = json.RawMessage(tag.value)
	default:
		return fmt.Errorf("the tag %s is none that Kubernetes knows", tag.key)
	}
	return nil
}

// rules of a field: `crossbridge:"sensitive,immutable,reference=Network.net.example.org/v1#/id"`.
func (d *Derived) rules(field Field, at string) error {
	text, has := field.tag.Lookup(RuleTag)
	if !has {
		return nil
	}
	rule := &pb.FieldRule{Path: at}
	for word := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "sensitive":
			rule.Sensitive = true
			if field.Required {
				return fmt.Errorf("a sensitive field is optional, as its value travels beside the parameters: add omitempty")
			}
		case "immutable":
			rule.Mutability = pb.Mutability_MUTABILITY_IMMUTABLE
		case "setOnce":
			rule.Mutability = pb.Mutability_MUTABILITY_SET_ONCE
		case "lateInitialized":
			rule.LateInitialized = true
		case "writeOnly":
			rule.Comparison = pb.Comparison_COMPARISON_WRITE_ONLY
		case "caseInsensitive":
			rule.Comparison = pb.Comparison_COMPARISON_CASE_INSENSITIVE
		case "jsonText":
			rule.Comparison = pb.Comparison_COMPARISON_JSON_TEXT
		case "quantity":
			rule.Comparison = pb.Comparison_COMPARISON_QUANTITY
		case "reference":
			reference, err := Reference(value)
			if err != nil {
				return err
			}
			rule.Reference = reference
		default:
			return fmt.Errorf("%q is no rule: write sensitive, immutable, setOnce, lateInitialized, writeOnly, caseInsensitive, jsonText, quantity or reference=Kind.group/version", name)
		}
	}
	d.Rules = append(d.Rules, rule)
	return nil
}

// Reference reads Kind.group/version, perhaps with #/pointer into the status.
func Reference(text string) (*pb.ReferenceRule, error) {
	resource, extract, _ := strings.Cut(text, "#")
	name, version, hasVersion := strings.Cut(resource, "/")
	kind, group, hasGroup := strings.Cut(name, ".")
	if !hasVersion || !hasGroup {
		return nil, fmt.Errorf("the reference %q is not of the form Kind.group/version", text)
	}
	return &pb.ReferenceRule{ResourceType: &pb.ResourceType{Group: group, Version: version, Kind: kind}, Extract: extract}, nil
}

type keyValue struct{ key, value string }

// parseTag reads a tag as reflect.StructTag.Lookup does, in order.
func parseTag(tag reflect.StructTag) ([]keyValue, error) {
	var all []keyValue
	for rest := strings.TrimLeft(string(tag), " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		key, after, found := strings.Cut(rest, ":")
		quoted, err := strconv.QuotedPrefix(after)
		if !found || err != nil || strings.ContainsAny(key, ` "`) {
			return nil, fmt.Errorf("the tag `%s` is malformed at `%s`", tag, rest)
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("the tag `%s` is malformed at `%s`", tag, rest)
		}
		all = append(all, keyValue{key, value})
		rest = after[len(quoted):]
	}
	return all, nil
}
