package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Keywords that a structural schema never has, anywhere.
var forbidden = []string{
	"$ref", "$schema", "$id", "$defs", "definitions", "dependencies", "deprecated", "discriminator", "id", "patternProperties", "readOnly", "writeOnly",
}

var types = []string{"array", "boolean", "integer", "number", "object", "string"}

// Schema checks that a whole schema is structural, as Kubernetes wants it of a CRD.
func Schema(schema map[string]any, field string) *Violation {
	if schema["type"] != "object" {
		return New(field, `is no structural OpenAPI v3 schema: at "": the whole must be of type object`)
	}
	return node(schema, field, "")
}

func node(schema map[string]any, field, at string) *Violation {
	problem := func(format string, arguments ...any) *Violation {
		return New(field, "is no structural OpenAPI v3 schema: at %q: %s", at, fmt.Sprintf(format, arguments...))
	}
	for _, keyword := range forbidden {
		if _, has := schema[keyword]; has {
			return problem("%s is not allowed", keyword)
		}
	}
	name, isText := schema["type"].(string)
	switch {
	case isText && slices.Contains(types, name):
	case schema["type"] != nil:
		return problem("type %v is not one of %s", schema["type"], strings.Join(types, ", "))
	case schema["x-kubernetes-int-or-string"] == true || schema["x-kubernetes-preserve-unknown-fields"] == true:
	default:
		return problem("it has no type")
	}
	properties, hasProperties := schema["properties"].(map[string]any)
	additional, hasAdditional := schema["additionalProperties"]
	if hasProperties && hasAdditional {
		return problem("properties and additionalProperties exclude each other")
	}
	if additional == false {
		return problem("additionalProperties may not be false")
	}
	if _, has := schema["items"]; name == "array" && !has {
		return problem("an array needs items")
	}
	children := map[string]any{}
	for name, property := range properties {
		children["/properties/"+EscapePointer(name)] = property
	}
	for _, keyword := range []string{"items", "additionalProperties"} {
		if child, has := schema[keyword]; has && child != true {
			children["/"+keyword] = child
		}
	}
	for way, child := range children {
		below, isSchema := child.(map[string]any)
		if !isSchema {
			return New(field, "is no structural OpenAPI v3 schema: at %q: it is no schema", at+way)
		}
		if violation := node(below, field, at+way); violation != nil {
			return violation
		}
	}
	return nil
}

// InSchema reports why a field rule's path leads nowhere in the schema; empty: it leads to a field, or into what the schema does not name.
func InSchema(schema map[string]any, path string) string {
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		name := UnescapePointer(segment)
		var child any
		if schema["type"] == "array" {
			if _, err := strconv.Atoi(name); err != nil && name != "*" {
				return fmt.Sprintf("%q names %q in a list; write * for any item", path, name)
			}
			child = schema["items"]
		} else {
			properties, _ := schema["properties"].(map[string]any)
			if child = properties[name]; child == nil {
				child = schema["additionalProperties"]
			}
		}
		below, isSchema := child.(map[string]any)
		if !isSchema {
			if _, free := schema["x-kubernetes-preserve-unknown-fields"]; free || child == true {
				return ""
			}
			return fmt.Sprintf("%q is not in the schema of the parameters", path)
		}
		schema = below
	}
	return ""
}

// EscapePointer escapes one segment of a JSON Pointer.
func EscapePointer(segment string) string {
	return strings.ReplaceAll(strings.ReplaceAll(segment, "~", "~0"), "/", "~1")
}

// UnescapePointer is its inverse.
func UnescapePointer(segment string) string {
	return strings.ReplaceAll(strings.ReplaceAll(segment, "~1", "/"), "~0", "~")
}
