package crossbridge_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// matcher compares an answer with what a vector expects of it.
type matcher struct{ saved map[string]any }

// match reports what does not match; empty: all does.
func (m matcher) match(expected, actual any, at string) string {
	object, isObject := expected.(map[string]any)
	if isObject && slices.ContainsFunc(keysOf(object), func(key string) bool { return strings.HasPrefix(key, "$") }) {
		for operator, argument := range object {
			if problem := m.operator(operator, argument, actual, at); problem != "" {
				return problem
			}
		}
		return ""
	}
	if isObject {
		members, ok := actual.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s: %v is no object", at, actual)
		}
		for key, member := range object {
			if problem := m.match(member, members[key], at+"."+key); problem != "" {
				return problem
			}
		}
		return ""
	}
	if list, ok := expected.([]any); ok {
		items, ok := actual.([]any)
		if !ok || len(items) != len(list) {
			return fmt.Sprintf("%s: %v is not as long as %v", at, actual, expected)
		}
		for i, item := range list {
			if problem := m.match(item, items[i], fmt.Sprintf("%s[%d]", at, i)); problem != "" {
				return problem
			}
		}
		return ""
	}
	if !reflect.DeepEqual(expected, actual) {
		return fmt.Sprintf("%s: is %#v, and not %#v", at, actual, expected)
	}
	return ""
}

func (m matcher) operator(operator string, argument, actual any, at string) string {
	text, _ := actual.(string)
	wrong := func() string {
		wanted, _ := json.Marshal(argument)
		got, _ := json.Marshal(actual)
		return fmt.Sprintf("%s: %s %s does not hold of %s", at, operator, wanted, got)
	}
	holds := false
	switch operator {
	case "$unset":
		holds = isUnset(actual)
	case "$any":
		holds = !isUnset(actual)
	case "$contains":
		holds = strings.Contains(strings.ToLower(text), strings.ToLower(argument.(string)))
	case "$lacks":
		holds = !strings.Contains(strings.ToLower(text), strings.ToLower(argument.(string)))
	case "$json":
		value, err := decoded([]byte(text))
		holds = err == nil && reflect.DeepEqual(canonical(value), canonical(argument))
	case "$equals":
		holds = reflect.DeepEqual(argument, actual)
	case "$oneOf":
		holds = slices.ContainsFunc(argument.([]any), func(one any) bool { return reflect.DeepEqual(one, actual) })
	case "$unordered":
		holds = m.unordered(argument.([]any), actual)
	case "$saved":
		holds = reflect.DeepEqual(m.saved[argument.(string)], actual)
	case "$not":
		holds = m.match(argument, actual, at) != ""
	default:
		return "unknown operator " + operator
	}
	if holds {
		return ""
	}
	return wrong()
}

func (m matcher) unordered(expected []any, actual any) bool {
	items, ok := actual.([]any)
	if !ok || len(items) != len(expected) {
		return false
	}
	left := slices.Clone(items)
	for _, one := range expected {
		i := slices.IndexFunc(left, func(item any) bool { return reflect.DeepEqual(one, item) })
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return true
}

func isUnset(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == "" || strings.HasSuffix(value, "_UNSPECIFIED") || value == "0"
	case bool:
		return !value
	case json.Number:
		return value == "0"
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	}
	return false
}

// canonical is a value in which schemas that mean the same are equal: an empty properties or required is none, and required has no order.
func canonical(value any) any {
	switch value := value.(type) {
	case map[string]any:
		all := map[string]any{}
		for key, member := range value {
			if (key == "properties" || key == "required") && isUnset(member) {
				continue
			}
			member = canonical(member)
			if list, ok := member.([]any); ok && key == "required" {
				list = slices.Clone(list)
				slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
				member = list
			}
			all[key] = member
		}
		return all
	case []any:
		var all []any
		for _, item := range value {
			all = append(all, canonical(item))
		}
		return all
	}
	return value
}

func decoded(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	return value, err
}

func keysOf(object map[string]any) []string {
	var keys []string
	for key := range object {
		keys = append(keys, key)
	}
	return keys
}
