package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	resourceNameAnnotation = "crossplane.io/composition-resource-name"
	claimNameLabel         = "crossplane.io/claim-name"
	claimNamespaceLabel    = "crossplane.io/claim-namespace"
)

// composed is what came of a run.
type composed struct {
	kinds   []schema.GroupVersionKind
	unready []string
	ttl     time.Duration
}

// compose runs the function, stores the references, and applies what is desired and then the status.
func (r *compositeReconciler) compose(ctx context.Context, xr, revision *unstructured.Unstructured) (composed, error) {
	var result composed
	observed, err := r.observe(ctx, xr)
	if err != nil {
		return result, err
	}
	answer, err := r.function(ctx, xr.Object, observed, inputOf(revision))
	if err != nil {
		return result, err
	}
	result.ttl = time.Duration(answer.ttlSeconds) * time.Second
	desired := map[string]*unstructured.Unstructured{}
	for name, resource := range answer.resources {
		object := &unstructured.Unstructured{Object: resource.object}
		r.complete(xr, object, name, observed[name])
		desired[name] = object
		if !slices.Contains(result.kinds, object.GroupVersionKind()) {
			result.kinds = append(result.kinds, object.GroupVersionKind())
		}
		if !resource.isReady {
			result.unready = append(result.unready, name)
		}
	}
	slices.Sort(result.unready)
	if err := r.applyReferences(ctx, xr, desired); err != nil {
		return result, err
	}
	for _, object := range desired {
		owner := client.FieldOwner(managerOf(xr, object))
		//nolint:staticcheck // As Crossplane applies.
		if err := r.client.Patch(ctx, object, client.Apply, client.ForceOwnership, owner); err != nil {
			return result, err
		}
	}
	return result, r.applyStatus(ctx, xr, answer.status)
}

// observe reads what the references name, by their annotation.
func (r *compositeReconciler) observe(ctx context.Context, xr *unstructured.Unstructured,
) (map[string]*unstructured.Unstructured, error) {
	observed := map[string]*unstructured.Unstructured{}
	references, _, _ := unstructured.NestedSlice(xr.Object, r.path("resourceRefs")...)
	for _, reference := range references {
		fields := reference.(map[string]any)
		text := func(field string) string { text, _ := fields[field].(string); return text }
		key := types.NamespacedName{Namespace: text("namespace"), Name: text("name")}
		if xr.GetNamespace() != "" {
			key.Namespace = xr.GetNamespace()
		}
		object := newObject(schema.FromAPIVersionAndKind(text("apiVersion"), text("kind")))
		err := r.client.Get(ctx, key, object)
		if apierrors.IsNotFound(err) {
			err = r.reader.Get(ctx, key, object)
		}
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if owner := metav1.GetControllerOf(object); owner != nil && owner.UID == xr.GetUID() {
			observed[object.GetAnnotations()[resourceNameAnnotation]] = object
		}
	}
	return observed, nil
}

// complete sets metadata and name.
func (r *compositeReconciler) complete(xr, object *unstructured.Unstructured, name string,
	observed *unstructured.Unstructured,
) {
	if xr.GetNamespace() != "" {
		object.SetNamespace(xr.GetNamespace())
	}
	labels := maps.Clone(object.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	for _, label := range []string{compositeLabel, claimNameLabel, claimNamespaceLabel} {
		if value := xr.GetLabels()[label]; value != "" {
			labels[label] = value
		}
	}
	object.SetLabels(labels)
	annotations := maps.Clone(object.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[resourceNameAnnotation] = name
	object.SetAnnotations(annotations)
	object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(xr, r.kind.gvk)})
	prefix := xr.GetLabels()[compositeLabel] + "-"
	object.SetGenerateName(prefix)
	object.SetName(childName(prefix, xr.GetUID(), name))
	if observed != nil {
		object.SetName(observed.GetName())
		object.SetGenerateName(observed.GetGenerateName())
	}
}

// childName is the same each time.
func childName(prefix string, owner types.UID, name string) string {
	const longest, kept = 63, 50
	sum := sha256.Sum256([]byte(string(owner) + name))
	suffix := hex.EncodeToString(sum[:])[:12]
	if len(prefix)+len(suffix) > longest {
		prefix = prefix[:kept] + "-"
	}
	return prefix + suffix
}

func managerOf(xr, object *unstructured.Unstructured) string {
	kind := object.GroupVersionKind().GroupKind().String()
	sum := sha256.Sum256([]byte(xr.GetName() + kind))
	return fmt.Sprintf("apiextensions.crossplane.io/composed/%x", sum)
}

// applyReferences stores them all, also where nothing has changed.
func (r *compositeReconciler) applyReferences(ctx context.Context, xr *unstructured.Unstructured,
	desired map[string]*unstructured.Unstructured,
) error {
	var references []any
	for _, object := range desired {
		reference := map[string]any{
			"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(), "name": object.GetName(),
		}
		if xr.GetNamespace() == "" && object.GetNamespace() != "" {
			reference["namespace"] = object.GetNamespace()
		}
		references = append(references, reference)
	}
	key := func(reference any) string {
		fields := reference.(map[string]any)
		return fmt.Sprint(fields["apiVersion"], fields["kind"], fields["name"], fields["namespace"])
	}
	slices.SortFunc(references, func(a, b any) int { return strings.Compare(key(a), key(b)) })
	applied := newObject(r.kind.gvk)
	applied.SetName(xr.GetName())
	applied.SetNamespace(xr.GetNamespace())
	if err := unstructured.SetNestedSlice(applied.Object, references, r.path("resourceRefs")...); err != nil {
		return err
	}
	//nolint:staticcheck // As Crossplane applies.
	return r.client.Patch(ctx, applied, client.Apply, client.ForceOwnership, client.FieldOwner(fieldsOfComposite))
}

// applyStatus makes of the composite resource in memory what the API server answers.
func (r *compositeReconciler) applyStatus(ctx context.Context, xr *unstructured.Unstructured,
	status map[string]any,
) error {
	conditions, _, _ := unstructured.NestedSlice(xr.Object, "status", "conditions")
	applied := newObject(r.kind.gvk)
	applied.SetName(xr.GetName())
	applied.SetNamespace(xr.GetNamespace())
	applied.SetUID(xr.GetUID())
	if status == nil {
		status = map[string]any{}
	}
	if len(conditions) > 0 {
		status["conditions"] = conditions
	}
	applied.Object["status"] = status
	//nolint:staticcheck // As Crossplane applies.
	err := r.client.Status().Patch(ctx, applied, client.Apply, client.ForceOwnership,
		client.FieldOwner(fieldsOfComposite))
	if err != nil {
		return err
	}
	xr.Object = applied.Object
	return nil
}

// inputOf gives that of the one step.
func inputOf(revision *unstructured.Unstructured) map[string]any {
	steps, _, _ := unstructured.NestedSlice(revision.Object, "spec", "pipeline")
	if len(steps) == 0 {
		return nil
	}
	input, _ := steps[0].(map[string]any)["input"].(map[string]any)
	return input
}
