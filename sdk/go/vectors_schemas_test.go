package crossbridge_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"crossbridge.dev/sdk/go/internal/schema"
)

// The types of schemas.json, as an author writes them.
type (
	scalars struct {
		_       struct{} `doc:"A file."`
		Name    string   `json:"name" doc:"Its name."`
		Size    int64    `json:"size"`
		Seconds int32    `json:"seconds"`
		Ratio   float64  `json:"ratio"`
		Enabled bool     `json:"enabled"`
	}
	optionals struct {
		Name    *string `json:"name,omitempty"`
		Size    *int64  `json:"size,omitempty"`
		Seconds int32   `json:"seconds,omitempty"`
		Enabled bool    `json:"enabled,omitzero"`
	}
	camelCased struct {
		InstanceClass string `json:"instanceClass"`
		MaxSize       *int64 `json:"maxSize,omitempty"`
	}
	storage     string
	enumeration struct {
		Storage storage `json:"storage" enum:"Standard,Cold"`
		Mode    *string `json:"mode,omitempty" enum:"on,off"`
	}
	defaults struct {
		Lucky int64  `json:"lucky" default:"7"`
		Mode  string `json:"mode" default:"on"`
	}
	limits struct {
		Size  int64    `json:"size" minimum:"1" maximum:"100"`
		Name  string   `json:"name" minLength:"3" maxLength:"63" pattern:"^[a-z-]+$"`
		Zones []string `json:"zones" minItems:"1" maxItems:"3"`
	}
	inner struct {
		Depth *int64 `json:"depth,omitempty"`
		Key   string `json:"key" doc:"Its key."`
	}
	nested struct {
		Inner inner             `json:"inner"`
		Maybe *inner            `json:"maybe,omitempty"`
		List  []inner           `json:"list"`
		Tags  map[string]string `json:"tags,omitempty"`
		Named map[string]inner  `json:"named,omitempty"`
	}
	free struct {
		Any       any            `json:"any,omitempty"`
		AnyObject map[string]any `json:"anyObject,omitempty"`
	}
	extended struct {
		Tags  map[string]string `json:"tags,omitempty" x-kubernetes-map-type:"atomic"`
		Zones []string          `json:"zones,omitempty" x-kubernetes-list-type:"set"`
	}
	dated struct {
		At *time.Time `json:"at,omitempty"`
	}
	empty     struct{}
	sensitive struct {
		Field *string `json:"field,omitempty" crossbridge:"sensitive"`
	}
	immutable struct {
		Field *string `json:"field,omitempty" crossbridge:"immutable"`
	}
	setOnce struct {
		Field *string `json:"field,omitempty" crossbridge:"setOnce"`
	}
	lateInitialized struct {
		Field *string `json:"field,omitempty" crossbridge:"lateInitialized"`
	}
	writeOnly struct {
		Field *string `json:"field,omitempty" crossbridge:"writeOnly"`
	}
	caseInsensitive struct {
		Field *string `json:"field,omitempty" crossbridge:"caseInsensitive"`
	}
	jsonText struct {
		Field *string `json:"field,omitempty" crossbridge:"jsonText"`
	}
	quantity struct {
		Field *string `json:"field,omitempty" crossbridge:"quantity"`
	}
	reference struct {
		Field *string `json:"field,omitempty" crossbridge:"reference=Network.net.example.org/v1"`
	}
	extracted struct {
		Field *string `json:"field,omitempty" crossbridge:"reference=Network.net.example.org/v1#/id"`
	}
	severalRules struct {
		Field *string `json:"field,omitempty" crossbridge:"sensitive,immutable,writeOnly"`
	}
	user struct {
		Name   string  `json:"name"`
		Secret *string `json:"secret,omitempty" crossbridge:"sensitive"`
	}
	below struct {
		Users []user          `json:"users,omitempty"`
		Keys  map[string]user `json:"keys,omitempty"`
		Box   *user           `json:"box,omitempty"`
	}
)

var schemaTypes = map[string]reflect.Type{
	"scalars": reflect.TypeFor[scalars](), "optional fields are absent, never null": reflect.TypeFor[optionals](),
	"names are camelCase": reflect.TypeFor[camelCased](), "an enumeration": reflect.TypeFor[enumeration](),
	"a default makes a field optional": reflect.TypeFor[defaults](), "limits": reflect.TypeFor[limits](),
	"objects, lists and maps stand in place": reflect.TypeFor[nested](), "any value, and any object": reflect.TypeFor[free](),
	"extensions of Kubernetes": reflect.TypeFor[extended](), "a date": reflect.TypeFor[dated](), "a type without fields": reflect.TypeFor[empty](),
	"a sensitive field": reflect.TypeFor[sensitive](), "an immutable field": reflect.TypeFor[immutable](),
	"a field that is set once": reflect.TypeFor[setOnce](), "a late-initialised field": reflect.TypeFor[lateInitialized](),
	"a write-only field": reflect.TypeFor[writeOnly](), "a field whose letter case does not count": reflect.TypeFor[caseInsensitive](),
	"a field that holds JSON": reflect.TypeFor[jsonText](), "a quantity": reflect.TypeFor[quantity](),
	"a reference to a name": reflect.TypeFor[reference](), "a reference to what stands in a status": reflect.TypeFor[extracted](),
	"several rules on one field": reflect.TypeFor[severalRules](), "rules below lists and maps": reflect.TypeFor[below](),
}

func TestSchemaVectors(t *testing.T) {
	for _, vector := range vectors(t, "schemas")["schemas"].([]any) {
		vector := vector.(map[string]any)
		t.Run(vector["name"].(string), func(t *testing.T) {
			of, has := schemaTypes[vector["name"].(string)]
			if !has {
				t.Fatal("no type is written for it")
			}
			derived, err := schema.Of(of)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := json.Marshal(derived.Schema)
			if problem := (matcher{}).operator("$json", vector["schema"], string(text), "schema"); problem != "" {
				t.Error(problem)
			}
			rules := []any{}
			for _, rule := range derived.Rules {
				text, _ := protojson.Marshal(rule)
				value, _ := decoded(text)
				rules = append(rules, value)
			}
			expected, _ := vector["fieldRules"].([]any)
			if !(matcher{}).unordered(expected, rules) {
				t.Errorf("the rules are %v, and not %v", rules, expected)
			}
		})
	}
}
