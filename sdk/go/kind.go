package crossbridge

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"crossbridge.dev/sdk/go/internal/check"
	"crossbridge.dev/sdk/go/internal/schema"
	pb "crossbridge.dev/sdk/go/internal/v1alpha1"
)

// Forever is the longest time.
const Forever = time.Duration(math.MaxInt64)

const (
	// The contract's "for ever": 10,000 years.
	foreverSeconds = 315_576_000_000
	longestCall    = time.Minute
)

// Kind is what a kind is, beside its types. It is namespaced unless it says otherwise.
type Kind struct {
	// Group, Version and Kind, for instance "s3.aws.example.org", "v1alpha1", "Bucket".
	Group, Version, Kind string
	// Plural is the kind in lower case with an s, unless it is set.
	Plural, Singular       string
	ShortNames, Categories []string
	Description            string
	ClusterScoped          bool
	// Names are how external names come about.
	Names ExternalName
	// Recovery are the ways to resolve a creation whose outcome is unknown, the preferred one first. None: the bridge stops, and a person decides.
	Recovery []Recovery
	// HoldsMarker: the ownership marker is kept on the resource and read back. [RecoverByMarker] implies it.
	HoldsMarker bool
	// ConsistencyWindow: for this long after a creation may have taken effect, absence is not believed.
	ConsistencyWindow time.Duration
	// LateMargin: how long after its deadline a request that the upstream has accepted may still take effect.
	LateMargin time.Duration
	// VisibleWhenAccepted: what is created can be observed from the moment at which the upstream has accepted the request.
	VisibleWhenAccepted bool
	// PluginCompares: the plugin reports what differs ([Observation.Comparison]), instead of the bridge.
	PluginCompares bool
	// ConcurrentUpdate: Update is accepted while another operation runs.
	ConcurrentUpdate bool
	// DeleteDuringCreate: Delete is accepted while a creation runs.
	DeleteDuringCreate bool
	// RateLimitGroup is shared by kinds of one upstream rate limit. Empty: one of its own.
	RateLimitGroup string
	Timeouts       Timeouts
	Columns        []Column
	// ConnectionKeys are all that may appear in the connection details.
	ConnectionKeys []ConnectionKey
	// Rules of fields, beside those of the tags.
	Rules []FieldRule
	// ListFilter is the type of a list's filter; nil: none.
	ListFilter *Type
	// Examples for docs and for the conformance kit; a kind that can be created has at least one.
	Examples []Example
}

// NameSource says where external names come from.
type NameSource int

const (
	// ByUser: the user gives the name, by annotation or metadata.name.
	ByUser = NameSource(pb.ExternalNameSource_EXTERNAL_NAME_SOURCE_USER)
	// ByUpstream: the upstream gives it, in the answer to Create.
	ByUpstream = NameSource(pb.ExternalNameSource_EXTERNAL_NAME_SOURCE_PROVIDER)
	// Derived: the plugin works it out from the parameters, and reports it in Observe and Create.
	Derived = NameSource(pb.ExternalNameSource_EXTERNAL_NAME_SOURCE_DERIVED)
)

// ExternalName is how the names of a kind's external resources come about.
type ExternalName struct {
	Source NameSource
	// Pattern of a name: RE2, anchored. Empty: any.
	Pattern string
	// MaxLength in bytes; 0: no limit of its own.
	MaxLength int
	// Example of one that is valid.
	Example string
}

// Recovery is a way to resolve a creation whose outcome is unknown.
type Recovery struct {
	way       pb.CreateRecovery
	retention time.Duration
}

var (
	// RecoverByName: the name is known beforehand, so that Observe finds it.
	RecoverByName = Recovery{way: pb.CreateRecovery_CREATE_RECOVERY_DETERMINISTIC_NAME}
	// RecoverByMarker: Observe with an empty name finds it by its marker, which the creating request itself sets.
	RecoverByMarker = Recovery{way: pb.CreateRecovery_CREATE_RECOVERY_MARKER}
)

// RecoverByToken : the upstream honors the token for this long after its first use ([Forever]), so that the same Create resolves it.
func RecoverByToken(retention time.Duration) Recovery {
	return Recovery{pb.CreateRecovery_CREATE_RECOVERY_CLIENT_TOKEN, retention}
}

// Timeouts of a kind; zero: the contract's default, or no limit.
type Timeouts struct {
	// Call is the deadline of one call; at most 60 s.
	Call time.Duration
	// Create, Update and Delete limit the whole, polls included.
	Create, Update, Delete time.Duration
}

// Column of kubectl: heading, OpenAPI type, JSONPath in the object.
type Column struct{ Name, Type, Path string }

// ConnectionKey is a key that may appear in the connection details.
type ConnectionKey struct {
	Name, Description string
	// OneTime: the upstream gives it only once, around the creation.
	OneTime bool
}

// FieldRule is what a field means beyond its type, in the words of the tag: `sensitive,immutable`.
type FieldRule struct {
	// Path is a JSON Pointer; * stands for any list index or map key.
	Path string
	// Rules as in the tag.
	Rules string
}

// Example is a fixture. Its documents are checked against the kind's types when the plugin starts.
type Example struct {
	Name string
	// ExternalName where the user gives it.
	ExternalName string
	// Create parameters, as the kind's type or as a map.
	Create any
	// Update parameters that are good for an update of the above; nil: none.
	Update any
	// Invalid parameters pass the schema, and are rejected with INVALID_SPEC all the same; nil: none.
	Invalid any
	// Sensitive values, invented, by JSON Pointer.
	Sensitive map[string]string
	// Requires are examples that must exist first: "Kind/name".
	Requires []string
}

// published is a kind, complete and checked.
type published struct {
	wire        *pb.ResourceKind
	source      string
	digest      string
	namePattern *regexp.Regexp
	sensitive   []string
	canPoll     bool
	canList     bool
}

func optionalDuration(duration *time.Duration) *durationpb.Duration {
	if duration == nil {
		return nil
	}
	return durationpb.New(*duration)
}

func wireDuration(duration time.Duration) *durationpb.Duration {
	switch duration {
	case 0:
		return nil
	case Forever:
		return &durationpb.Duration{Seconds: foreverSeconds}
	}
	return durationpb.New(duration)
}

func (k *Kind) capabilities(resource any) *pb.KindCapabilities {
	can := func(cannot bool) bool { return !cannot }
	_, noCreate := resource.(cannotCreate)
	_, noUpdate := resource.(cannotUpdate)
	_, noDelete := resource.(cannotDelete)
	capabilities := &pb.KindCapabilities{
		CanCreate: can(noCreate), CanUpdate: can(noUpdate), CanDelete: can(noDelete),
		ConsistencyWindow: wireDuration(k.ConsistencyWindow), HoldsMarker: k.HoldsMarker, ConcurrentUpdate: k.ConcurrentUpdate,
		DeleteDuringCreate: k.DeleteDuringCreate, RateLimitGroup: k.RateLimitGroup, LateMargin: wireDuration(k.LateMargin),
		VisibleWhenAccepted: k.VisibleWhenAccepted,
	}
	if k.PluginCompares {
		capabilities.DiffMode = pb.DiffMode_DIFF_MODE_PLUGIN
	}
	for _, recovery := range k.Recovery {
		capabilities.CreateRecovery = append(capabilities.CreateRecovery, recovery.way)
		switch recovery.way {
		case pb.CreateRecovery_CREATE_RECOVERY_CLIENT_TOKEN:
			capabilities.TokenRetention = wireDuration(recovery.retention)
		case pb.CreateRecovery_CREATE_RECOVERY_MARKER:
			capabilities.HoldsMarker = true
		}
	}
	return capabilities
}

func (k *Kind) wire(resource any) (*pb.ResourceKind, error) {
	wire := &pb.ResourceKind{
		ResourceType: &pb.ResourceType{Group: k.Group, Version: k.Version, Kind: k.Kind},
		Plural:       k.Plural, Singular: k.Singular, ShortNames: k.ShortNames, Categories: k.Categories,
		Namespaced: !k.ClusterScoped, Description: k.Description,
		Capabilities: k.capabilities(resource),
		ExternalName: &pb.ExternalNameRules{
			Source:  pb.ExternalNameSource(k.Names.Source),                                                              // One of the contract's.
			Pattern: k.Names.Pattern, MaxLength: int32(min(k.Names.MaxLength, math.MaxInt32)), Example: k.Names.Example, // Bounded.
		},
	}
	if wire.GetPlural() == "" {
		wire.Plural = strings.ToLower(k.Kind) + "s"
	}
	if k.Timeouts != (Timeouts{}) {
		wire.Timeouts = &pb.Timeouts{
			CallTimeout: wireDuration(k.Timeouts.Call), CreateTimeout: wireDuration(k.Timeouts.Create),
			UpdateTimeout: wireDuration(k.Timeouts.Update), DeleteTimeout: wireDuration(k.Timeouts.Delete),
		}
	}
	for _, column := range k.Columns {
		wire.PrinterColumns = append(wire.PrinterColumns, &pb.PrinterColumn{Name: column.Name, DataType: column.Type, JsonPath: column.Path})
	}
	for _, key := range k.ConnectionKeys {
		wire.ConnectionKeys = append(wire.ConnectionKeys, &pb.ConnectionKey{Name: key.Name, Description: key.Description, OneTime: key.OneTime})
	}
	for _, example := range k.Examples {
		fixture := &pb.KindExample{
			Name: example.Name, ExternalName: example.ExternalName, SensitiveValues: example.Sensitive, Requires: example.Requires,
		}
		for _, document := range []struct {
			from any
			to   **pb.Document
		}{{example.Create, &fixture.CreateParameters}, {example.Update, &fixture.UpdateParameters}, {example.Invalid, &fixture.InvalidParameters}} {
			if document.from == nil {
				continue
			}
			object, err := schema.Write(document.from, nil)
			if err != nil {
				return nil, fmt.Errorf("example %q: %w", example.Name, err)
			}
			*document.to = documentOf(object)
		}
		wire.Examples = append(wire.Examples, fixture)
	}
	return wire, nil
}

// checkName checks the form of a name; empty: it is in form.
func (p *published) checkName(name string) string {
	rules := p.wire.GetExternalName()
	if longest := int(rules.GetMaxLength()); longest > 0 && len(name) > longest {
		return fmt.Sprintf("%q has %d bytes; at most %d are allowed", name, len(name), longest)
	}
	if p.namePattern != nil && !p.namePattern.MatchString(name) {
		return fmt.Sprintf("%q does not match %q", name, rules.GetPattern())
	}
	return ""
}

func (p *published) recoversBy(way pb.CreateRecovery) bool {
	for _, declared := range p.wire.GetCapabilities().GetCreateRecovery() {
		if declared == way {
			return true
		}
	}
	return false
}

// declares reports whether a connection key is declared.
func (p *published) declares(key string) bool {
	for _, known := range p.wire.GetConnectionKeys() {
		if known.GetName() == key {
			return true
		}
	}
	return false
}

func typeText(of *pb.ResourceType) string {
	return of.GetKind() + "." + of.GetGroup() + "/" + of.GetVersion()
}

func checkType(of *pb.ResourceType, field string) *check.Violation {
	return check.First(check.APIGroup(of.GetGroup(), field+".group"), check.DNSLabel(of.GetVersion(), field+".version"),
		check.PascalCase(of.GetKind(), field+".kind"))
}
