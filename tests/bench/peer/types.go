package main

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// groupVersion is that of bench-plugin, whose CRDs both sides use.
var groupVersion = schema.GroupVersion{Group: "bench.example.org", Version: "v1alpha1"}

// Rule is one rule of a list.
type Rule struct {
	Port     int64    `json:"port"`
	Protocol string   `json:"protocol"`
	Sources  []string `json:"sources"`
}

// Parameters are what the user writes.
type Parameters struct {
	Region      string            `json:"region"`
	Size        int64             `json:"size"`
	Description *string           `json:"description,omitempty"`
	Rules       []Rule            `json:"rules,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
}

// Observation is what the cloud reports.
type Observation struct {
	ID      string `json:"id,omitempty"`
	Address string `json:"address,omitempty"`
}

// Reference names another object.
type Reference struct {
	Kind string `json:"kind,omitempty"`
	Name string `json:"name"`
}

// Spec is the desired state.
type Spec struct {
	ForProvider                Parameters `json:"forProvider"`
	ManagementPolicies         []string   `json:"managementPolicies,omitempty"`
	ProviderConfigRef          *Reference `json:"providerConfigRef,omitempty"`
	WriteConnectionSecretToRef *Reference `json:"writeConnectionSecretToRef,omitempty"`
}

// Condition is one of the status.
type Condition struct {
	Type               string                 `json:"type"`
	Status             corev1.ConditionStatus `json:"status"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime"`
	Reason             string                 `json:"reason"`
	Message            string                 `json:"message,omitempty"`
	ObservedGeneration int64                  `json:"observedGeneration,omitempty"`
}

// isSame tells whether both say the same; an unknown generation is like any.
func (c Condition) isSame(other Condition) bool {
	generations := c.ObservedGeneration == other.ObservedGeneration ||
		c.ObservedGeneration == 0 || other.ObservedGeneration == 0
	return c.Type == other.Type && c.Status == other.Status && c.Reason == other.Reason &&
		c.Message == other.Message && generations
}

// Status is the observed state.
type Status struct {
	Conditions []Condition  `json:"conditions,omitempty"`
	AtProvider *Observation `json:"atProvider,omitempty"`
}

// setCondition leaves one that says the same as it was, with its time.
func (s *Status) setCondition(condition Condition) {
	at := slices.IndexFunc(s.Conditions, func(held Condition) bool { return held.Type == condition.Type })
	switch {
	case at < 0:
		s.Conditions = append(s.Conditions, condition)
	case !s.Conditions[at].isSame(condition):
		s.Conditions[at] = condition
	}
}

// Thing is what both kinds are.
type Thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitempty"`
}

func (t *Thing) thing() *Thing { return t }

// managed is an object of either kind.
type managed interface {
	client.Object
	thing() *Thing
}

// Named is named by the user.
type Named struct {
	Thing `json:",inline"`
}

// NamedList is a list of them.
type NamedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Named `json:"items"`
}

// Given is named by the cloud.
type Given struct {
	Thing `json:",inline"`
}

// GivenList is a list of them.
type GivenList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Given `json:"items"`
}

func addToScheme(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(groupVersion, &Named{}, &NamedList{}, &Given{}, &GivenList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
}

func pointer[T any](value *T) *T {
	if value == nil {
		return nil
	}
	copied := *value
	return &copied
}

func (p Parameters) deepCopy() Parameters {
	p.Description = pointer(p.Description)
	p.Rules = slices.Clone(p.Rules)
	for i := range p.Rules {
		p.Rules[i].Sources = slices.Clone(p.Rules[i].Sources)
	}
	p.Tags = maps.Clone(p.Tags)
	return p
}

func (t *Thing) deepCopyInto(out *Thing) {
	out.TypeMeta = t.TypeMeta
	t.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec = Spec{
		ForProvider:                t.Spec.ForProvider.deepCopy(),
		ManagementPolicies:         slices.Clone(t.Spec.ManagementPolicies),
		ProviderConfigRef:          pointer(t.Spec.ProviderConfigRef),
		WriteConnectionSecretToRef: pointer(t.Spec.WriteConnectionSecretToRef),
	}
	out.Status = Status{
		Conditions: slices.Clone(t.Status.Conditions),
		AtProvider: pointer(t.Status.AtProvider),
	}
}

// DeepCopyObject is of runtime.Object.
func (n *Named) DeepCopyObject() runtime.Object {
	out := &Named{}
	n.deepCopyInto(&out.Thing)
	return out
}

// DeepCopyObject is of runtime.Object.
func (g *Given) DeepCopyObject() runtime.Object {
	out := &Given{}
	g.deepCopyInto(&out.Thing)
	return out
}

// DeepCopyObject is of runtime.Object.
func (l *NamedList) DeepCopyObject() runtime.Object {
	out := &NamedList{TypeMeta: l.TypeMeta, Items: make([]Named, len(l.Items))}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		l.Items[i].deepCopyInto(&out.Items[i].Thing)
	}
	return out
}

// DeepCopyObject is of runtime.Object.
func (l *GivenList) DeepCopyObject() runtime.Object {
	out := &GivenList{TypeMeta: l.TypeMeta, Items: make([]Given, len(l.Items))}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		l.Items[i].deepCopyInto(&out.Items[i].Thing)
	}
	return out
}
