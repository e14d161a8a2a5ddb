package crossbridge

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"crossbridge.dev/sdk/go/internal/check"
	"crossbridge.dev/sdk/go/internal/schema"
	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

// publish puts the declarations of a kind and its types together, and checks them.
func publish(kind *Kind, resource any, parameters, status reflect.Type) (*published, error) {
	wire, err := kind.wire(resource)
	if err != nil {
		return nil, err
	}
	derived, err := schema.Of(parameters)
	if err != nil {
		return nil, fmt.Errorf("the type of the parameters, %s: %w", parameters, err)
	}
	ofStatus, err := schema.Of(status)
	if err != nil {
		return nil, fmt.Errorf("the type of the status, %s: %w", status, err)
	}
	if len(ofStatus.Rules) > 0 {
		return nil, fmt.Errorf("the type of the status, %s: %s has a rule, which are for parameters", status, ofStatus.Rules[0].GetPath())
	}
	wire.ParametersSchemaJson, wire.StatusSchemaJson = text(derived.Schema), text(ofStatus.Schema)
	if kind.ListFilter != nil {
		filter, err := schema.Of(kind.ListFilter.of)
		if err != nil {
			return nil, fmt.Errorf("the type of the list filter, %s: %w", kind.ListFilter.of, err)
		}
		wire.ListFilterSchemaJson = text(filter.Schema)
	}
	for field, written := range map[string]string{
		"parameters_schema_json": wire.GetParametersSchemaJson(), "status_schema_json": wire.GetStatusSchemaJson(),
		"list_filter_schema_json": wire.GetListFilterSchemaJson(),
	} {
		if written == "" {
			continue
		}
		read, err := schema.Object(written)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field, err)
		}
		if violation := check.Schema(read, field); violation != nil {
			return nil, violation
		}
	}
	if wire.FieldRules, err = joinRules(derived.Rules, kind.Rules); err != nil {
		return nil, err
	}
	published := &published{wire: wire}
	if err := published.check(derived.Schema, parameters); err != nil {
		return nil, err
	}
	for _, rule := range wire.GetFieldRules() {
		if rule.GetSensitive() {
			published.sensitive = append(published.sensitive, rule.GetPath())
		}
	}
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(wire)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(encoded)
	published.digest = hex.EncodeToString(sum[:])
	return published, nil
}

// joinRules adds the rules that are declared by path to those of the tags.
func joinRules(rules []*pb.FieldRule, declared []FieldRule) ([]*pb.FieldRule, error) {
	for _, rule := range declared {
		// The tag's own words, on a field of its own.
		field := reflect.StructField{
			Name: "F", Type: reflect.TypeFor[*string](), Tag: reflect.StructTag(fmt.Sprintf("json:\"f\" %s:%q", schema.RuleTag, rule.Rules)),
		}
		one, err := schema.Of(reflect.StructOf([]reflect.StructField{field}))
		if err != nil {
			return nil, fmt.Errorf("the rule of %q: %w", rule.Path, err)
		}
		if violation := check.Pointer(rule.Path, "path"); violation != nil {
			return nil, fmt.Errorf("the rule of %q: %w", rule.Path, violation)
		}
		one.Rules[0].Path = rule.Path
		if at := slices.IndexFunc(rules, func(known *pb.FieldRule) bool { return known.GetPath() == rule.Path }); at >= 0 {
			proto.Merge(rules[at], one.Rules[0])
		} else {
			rules = append(rules, one.Rules[0])
		}
	}
	return rules, nil
}

func (p *published) check(parametersSchema map[string]any, parameters reflect.Type) error {
	wire := p.wire
	names := check.First(checkType(wire.GetResourceType(), "resource_type"), check.DNSLabel(wire.GetPlural(), "plural"))
	if wire.GetSingular() != "" {
		names = check.First(names, check.DNSLabel(wire.GetSingular(), "singular"))
	}
	for field, all := range map[string][]string{"short_names": wire.GetShortNames(), "categories": wire.GetCategories()} {
		for i, name := range all {
			names = check.First(names, check.DNSLabel(name, fmt.Sprintf("%s[%d]", field, i)))
		}
		names = check.First(names, check.Distinct(all, field, ""))
	}
	violation := check.First(names, p.checkParts(), p.checkRecovery(), checkTimeouts(wire))
	for i, rule := range wire.GetFieldRules() {
		if why := check.InSchema(normal(parametersSchema), rule.GetPath()); why != "" {
			violation = check.First(violation, check.NotAllowed(fmt.Sprintf("field_rules[%d].path", i), "%s", why))
		}
		if reference := rule.GetReference(); reference != nil {
			violation = check.First(violation, checkType(reference.GetResourceType(), fmt.Sprintf("field_rules[%d].reference.resource_type", i)))
			if reference.GetExtract() != "" {
				violation = check.First(violation, check.Pointer(reference.GetExtract(), fmt.Sprintf("field_rules[%d].reference.extract", i)))
			}
		}
	}
	if violation != nil {
		return violation
	}
	if pattern := wire.GetExternalName().GetPattern(); pattern != "" {
		compiled, err := regexp.Compile("^(?:" + pattern + ")$")
		if err != nil {
			return fmt.Errorf("external_name.pattern: %w", err)
		}
		p.namePattern = compiled
	}
	if why := p.checkName(wire.GetExternalName().GetExample()); why != "" {
		return fmt.Errorf("external_name.example: %s", why)
	}
	return p.checkExamples(parameters)
}

func (p *published) checkParts() *check.Violation {
	wire := p.wire
	var violation *check.Violation
	var columns, keys []string
	for i, column := range wire.GetPrinterColumns() {
		at := fmt.Sprintf("printer_columns[%d].", i)
		columns = append(columns, column.GetName())
		violation = check.First(violation, check.Required(column.GetName(), at+"name"))
		if !slices.Contains([]string{"integer", "number", "string", "boolean", "date"}, column.GetDataType()) {
			violation = check.First(violation, check.New(at+"data_type", "is malformed: it must be integer, number, string, boolean or date"))
		}
		if !strings.HasPrefix(column.GetJsonPath(), ".") {
			violation = check.First(violation, check.New(at+"json_path", "is malformed: it must be a JSONPath that begins with '.'"))
		}
	}
	for i, key := range wire.GetConnectionKeys() {
		keys = append(keys, key.GetName())
		violation = check.First(violation, check.SecretKey(key.GetName(), fmt.Sprintf("connection_keys[%d].name", i)))
	}
	violation = check.First(violation, check.Distinct(columns, "printer_columns", "name"), check.Distinct(keys, "connection_keys", "name"))
	if wire.GetExternalName().GetSource() == 0 {
		violation = check.First(violation, check.Missing("external_name.source"))
	}
	return check.First(violation, check.Required(wire.GetExternalName().GetExample(), "external_name.example"))
}

func (p *published) checkRecovery() *check.Violation {
	const field = "capabilities.create_recovery"
	can, byUpstream := p.wire.GetCapabilities(), p.wire.GetExternalName().GetSource() == pb.ExternalNameSource_EXTERNAL_NAME_SOURCE_PROVIDER
	var ways []string
	for _, way := range can.GetCreateRecovery() {
		ways = append(ways, way.String())
	}
	byName := p.recoversBy(pb.CreateRecovery_CREATE_RECOVERY_DETERMINISTIC_NAME)
	byMarker := p.recoversBy(pb.CreateRecovery_CREATE_RECOVERY_MARKER)
	switch {
	case p.recoversBy(pb.CreateRecovery_CREATE_RECOVERY_CLIENT_TOKEN) && can.GetTokenRetention() == nil:
		return check.New("capabilities.token_retention", "is required with RecoverByToken, and is not set")
	case byName && byUpstream:
		return check.NotAllowed(field, "a name that the upstream gives is not known before")
	case can.GetCanCreate() && !byName && !byMarker && !byUpstream:
		return check.New(field, "is required where the name is known before anything is created, and is not set: write RecoverByName, RecoverByMarker, or both")
	}
	return check.Distinct(ways, field, "")
}

func checkTimeouts(wire *pb.ResourceKind) *check.Violation {
	timeouts := wire.GetTimeouts()
	if call := timeouts.GetCallTimeout(); call != nil && (call.AsDuration() <= 0 || call.AsDuration() > longestCall) {
		return check.New("timeouts.call_timeout", "is out of range: more than 0s, at most 60s is allowed")
	}
	can := wire.GetCapabilities()
	durations := map[string]time.Duration{
		"timeouts.create_timeout": timeouts.GetCreateTimeout().AsDuration(), "timeouts.update_timeout": timeouts.GetUpdateTimeout().AsDuration(),
		"timeouts.delete_timeout": timeouts.GetDeleteTimeout().AsDuration(), "capabilities.consistency_window": can.GetConsistencyWindow().AsDuration(),
		"capabilities.late_margin": can.GetLateMargin().AsDuration(), "capabilities.token_retention": can.GetTokenRetention().AsDuration(),
	}
	for field, duration := range durations {
		if duration < 0 {
			return check.New(field, "is out of range: 0s or more is allowed")
		}
	}
	return nil
}

func (p *published) checkExamples(parameters reflect.Type) error {
	wire := p.wire
	canCreate := wire.GetCapabilities().GetCanCreate()
	if canCreate && len(wire.GetExamples()) == 0 {
		return check.New("examples", "is required where the kind can be created, and is not set")
	}
	var names []string
	for i, example := range wire.GetExamples() {
		at := fmt.Sprintf("examples[%d].", i)
		name := example.GetName()
		names = append(names, name)
		violation := check.Required(name, at+"name")
		if canCreate && example.GetCreateParameters() == nil {
			violation = check.First(violation, check.New(at+"create_parameters", "is required where the kind can be created, and is not set"))
		}
		if canCreate && wire.GetExternalName().GetSource() == pb.ExternalNameSource_EXTERNAL_NAME_SOURCE_USER {
			violation = check.First(violation, check.Required(example.GetExternalName(), at+"external_name"))
		}
		for pointer := range example.GetSensitiveValues() {
			violation = check.First(violation, check.Pointer(pointer, fmt.Sprintf("%ssensitive_values[%q]", at, pointer)))
		}
		if violation != nil {
			return violation
		}
		if example.GetExternalName() != "" {
			if why := p.checkName(example.GetExternalName()); why != "" {
				return fmt.Errorf("the external name of example %q: %s", name, why)
			}
		}
		for _, document := range []*pb.Document{example.GetCreateParameters(), example.GetUpdateParameters()} {
			if document == nil {
				continue
			}
			if misfit := schema.Read([]byte(document.GetJson()), reflect.New(parameters).Interface()); misfit != nil {
				return fmt.Errorf("example %q: %w", name, misfit)
			}
		}
	}
	if violation := check.Distinct(names, "examples", "name"); violation != nil {
		return violation
	}
	return nil
}

// normal is a schema as it reads from its text: without Go's own types.
func normal(schema map[string]any) map[string]any {
	var read map[string]any
	// It was just written.
	_ = json.Unmarshal([]byte(text(schema)), &read)
	return read
}

func text(object map[string]any) string {
	// Maps, lists and scalars of the SDK's own: they have a text.
	bytes, _ := json.Marshal(object)
	return string(bytes)
}

// checkRequired: an example can only require one that is there.
func checkRequired(kinds []servedKind) error {
	there := map[string]bool{}
	for _, kind := range kinds {
		for _, example := range kind.published().wire.GetExamples() {
			there[kind.published().wire.GetResourceType().GetKind()+"/"+example.GetName()] = true
		}
	}
	for _, kind := range kinds {
		for _, example := range kind.published().wire.GetExamples() {
			for _, required := range example.GetRequires() {
				if !there[required] {
					return fmt.Errorf("kind %s (%s): example %q requires %q, which no kind has",
						kind.published().wire.GetResourceType().GetKind(), kind.published().source, example.GetName(), required)
				}
			}
		}
	}
	return nil
}

var errNoKinds = errors.New("it has no kind: a plugin serves at least one")
