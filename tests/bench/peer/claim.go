package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	claimFinalizer = "finalizer.apiextensions.crossplane.io"
	fieldsOfClaim  = "apiextensions.crossplane.io/claim"
)

// ofClaims are the fields of a claim's spec that do not cross.
var ofClaims = []string{"resourceRef", "compositionRevisionRef", "compositeDeletePolicy", "writeConnectionSecretToRef"}

// claimReconciler makes one pass over a claim.
type claimReconciler struct {
	client   client.Client
	recorder record.EventRecorder
	kind     claimKind
}

func (r *claimReconciler) pass(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	claim := newObject(r.kind.gvk)
	if err := r.client.Get(ctx, request.NamespacedName, claim); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	xr, err := r.bound(ctx, claim)
	if err != nil {
		return reconcile.Result{}, err
	}
	if claim.GetDeletionTimestamp() != nil {
		return reconcile.Result{}, r.delete(ctx, claim, xr)
	}
	if controllerutil.AddFinalizer(claim, claimFinalizer) {
		if err := r.client.Update(ctx, claim); err != nil {
			return reconcile.Result{}, err
		}
	}
	if xr, err = r.sync(ctx, claim, xr); err != nil {
		return reconcile.Result{}, err
	}
	setObjectCondition(claim, "Synced", "True", "ReconcileSuccess", "")
	if !isReady(xr) {
		r.recorder.Event(claim, corev1.EventTypeNormal, "BindCompositeResource",
			"Composite resource is not yet ready")
		setObjectCondition(claim, "Ready", "False", "Waiting",
			"Claim is waiting for composite resource to become Ready")
	} else {
		setObjectCondition(claim, "Ready", "True", "Available", "")
	}
	// Also where nothing has changed.
	if err := r.client.Status().Update(ctx, claim); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, untilCached(ctx, r.client, claim)
}

// bound gives the composite resource that the claim names; nil if it is absent.
func (r *claimReconciler) bound(ctx context.Context, claim *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	name, _, _ := unstructured.NestedString(claim.Object, "spec", "resourceRef", "name")
	if name == "" {
		return nil, nil
	}
	xr := newObject(r.kind.composite.gvk)
	err := r.client.Get(ctx, types.NamespacedName{Name: name}, xr)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return xr, err
}

// delete does not wait for the composite resource, as the policy Background is the default.
func (r *claimReconciler) delete(ctx context.Context, claim, xr *unstructured.Unstructured) error {
	if xr != nil {
		if err := client.IgnoreNotFound(r.client.Delete(ctx, xr)); err != nil {
			return err
		}
		r.recorder.Event(claim, corev1.EventTypeNormal, "DeleteCompositeResource",
			"Successfully deleted composite resource")
	}
	if !controllerutil.RemoveFinalizer(claim, claimFinalizer) {
		return nil
	}
	if err := client.IgnoreNotFound(r.client.Update(ctx, claim)); err != nil {
		return err
	}
	return untilAbsent(ctx, r.client, claim)
}

// sync updates the claim, applies the composite resource, and updates the claim's status: in this order no composite
// resource exists that its claim does not name.
func (r *claimReconciler) sync(ctx context.Context, claim, xr *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	applied := newObject(r.kind.composite.gvk)
	if xr != nil {
		applied.SetName(xr.GetName())
		fromComposite(claim, xr)
	} else if name, _, _ := unstructured.NestedString(claim.Object, "spec", "resourceRef", "name"); name != "" {
		applied.SetName(name)
	} else {
		applied.SetName(fmt.Sprintf("%s-%05x", claim.GetName(), rand.IntN(1<<20)))
		r.recorder.Event(claim, corev1.EventTypeNormal, "BindCompositeResource",
			"Successfully bound composite resource")
	}
	reference := map[string]any{
		"apiVersion": applied.GetAPIVersion(), "kind": applied.GetKind(), "name": applied.GetName(),
	}
	if err := unstructured.SetNestedMap(claim.Object, reference, "spec", "resourceRef"); err != nil {
		return nil, err
	}
	if err := r.client.Update(ctx, claim); err != nil {
		return nil, err
	}
	if err := toComposite(claim, applied); err != nil {
		return nil, err
	}
	owner := client.FieldOwner(fieldsOfClaim)
	//nolint:staticcheck // As Crossplane applies.
	if err := r.client.Patch(ctx, applied, client.Apply, client.ForceOwnership, owner); err != nil {
		return nil, err
	}
	return applied, r.client.Status().Update(ctx, claim)
}

// fromComposite takes over what was chosen.
func fromComposite(claim, xr *unstructured.Unstructured) {
	for _, field := range []string{"compositionRef", "compositionRevisionRef"} {
		if reference, has, _ := unstructured.NestedMap(xr.Object, "spec", field); has {
			_ = unstructured.SetNestedMap(claim.Object, reference, "spec", field)
		}
	}
}

// toComposite sets labels, the spec of the user, and the reference to the claim.
func toComposite(claim, xr *unstructured.Unstructured) error {
	xr.SetLabels(map[string]string{
		claimNameLabel: claim.GetName(), claimNamespaceLabel: claim.GetNamespace(),
	})
	spec, _, err := unstructured.NestedMap(claim.Object, "spec")
	if err != nil {
		return err
	}
	for _, field := range ofClaims {
		delete(spec, field)
	}
	spec["claimRef"] = map[string]any{
		"apiVersion": claim.GetAPIVersion(), "kind": claim.GetKind(),
		"namespace": claim.GetNamespace(), "name": claim.GetName(),
	}
	return unstructured.SetNestedMap(xr.Object, spec, "spec")
}

func isReady(object *unstructured.Unstructured) bool {
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, condition := range list {
		fields := condition.(map[string]any)
		if fields["type"] == "Ready" {
			return fields["status"] == "True"
		}
	}
	return false
}
