package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	compositeFinalizer = "composite.apiextensions.crossplane.io"
	compositeLabel     = "crossplane.io/composite"
	fieldsOfComposite  = "apiextensions.crossplane.io/composite"
)

var (
	compositionKind = schema.GroupVersionKind{Group: apiextensions, Version: "v1", Kind: "Composition"}
	revisionKind    = schema.GroupVersionKind{Group: apiextensions, Version: "v1", Kind: "CompositionRevision"}
)

// inSilence tries again what met a conflict, and bounds a pass.
type inSilence struct {
	pass func(context.Context, reconcile.Request) (reconcile.Result, error)
}

func (s inSilence) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	result, err := s.pass(ctx, request)
	if apierrors.IsConflict(err) {
		return again, nil
	}
	return result, err
}

// compositeReconciler makes one pass over a composite resource.
type compositeReconciler struct {
	client   client.Client
	reader   client.Reader
	recorder record.EventRecorder
	kind     compositeKind
	function function
	// watch begins once for each kind.
	watch func(schema.GroupVersionKind) error
}

func (r *compositeReconciler) pass(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	xr := newObject(r.kind.gvk)
	if err := r.client.Get(ctx, request.NamespacedName, xr); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	read := xr.DeepCopy()
	setObjectCondition(xr, "Responsive", "True", "WatchCircuitClosed", "")
	if xr.GetDeletionTimestamp() != nil {
		return reconcile.Result{}, client.IgnoreNotFound(r.delete(ctx, xr))
	}
	if controllerutil.AddFinalizer(xr, compositeFinalizer) {
		if err := r.client.Update(ctx, xr); err != nil {
			return reconcile.Result{}, err
		}
	}
	revision, err := r.selectRevision(ctx, xr)
	if err != nil {
		return reconcile.Result{}, err
	}
	if xr.GetLabels()[compositeLabel] == "" {
		labels := xr.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[compositeLabel] = xr.GetName()
		xr.SetLabels(labels)
		if err := r.client.Update(ctx, xr); err != nil {
			return reconcile.Result{}, err
		}
	}
	result, err := r.compose(ctx, xr, revision)
	if err != nil {
		return reconcile.Result{}, err
	}
	for _, kind := range result.kinds {
		if err := r.watch(kind); err != nil {
			return reconcile.Result{}, err
		}
	}
	r.report(xr, result)
	next := reconcile.Result{RequeueAfter: jittered(result.ttl)}
	if !equality.Semantic.DeepEqual(read.Object["status"], xr.Object["status"]) {
		if err := r.client.Status().Update(ctx, xr); err != nil {
			return reconcile.Result{}, err
		}
	}
	return next, untilCached(ctx, r.client, xr)
}

// delete leaves what was composed to the garbage collector.
func (r *compositeReconciler) delete(ctx context.Context, xr *unstructured.Unstructured) error {
	if controllerutil.RemoveFinalizer(xr, compositeFinalizer) {
		if err := r.client.Update(ctx, xr); err != nil {
			return err
		}
	}
	setObjectCondition(xr, "Ready", "False", "Deleting", "")
	setObjectCondition(xr, "Synced", "True", "ReconcileSuccess", "")
	if err := client.IgnoreNotFound(r.client.Status().Update(ctx, xr)); err != nil {
		return err
	}
	return untilAbsent(ctx, r.client, xr)
}

// selectRevision stores which composition, and then which revision of it, is used.
func (r *compositeReconciler) selectRevision(ctx context.Context, xr *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	name, _, _ := unstructured.NestedString(xr.Object, r.path("compositionRef", "name")...)
	if name == "" {
		var err error
		if name, err = r.compositionOf(ctx); err != nil {
			return nil, err
		}
		if err := r.updateReference(ctx, xr, "compositionRef", name); err != nil {
			return nil, err
		}
		r.event(xr, corev1.EventTypeNormal, "SelectComposition", "Successfully selected composition: "+name)
	}
	revision, err := r.latestRevision(ctx, name)
	if err != nil {
		return nil, err
	}
	held, _, _ := unstructured.NestedString(xr.Object, r.path("compositionRevisionRef", "name")...)
	if held != revision.GetName() {
		if err := r.updateReference(ctx, xr, "compositionRevisionRef", revision.GetName()); err != nil {
			return nil, err
		}
		r.event(xr, corev1.EventTypeNormal, "SelectComposition",
			"Successfully selected composition revision: "+revision.GetName())
	}
	return revision, nil
}

func (r *compositeReconciler) updateReference(ctx context.Context, xr *unstructured.Unstructured,
	field, name string,
) error {
	if err := unstructured.SetNestedField(xr.Object, name, r.path(field, "name")...); err != nil {
		return err
	}
	return r.client.Update(ctx, xr)
}

func (r *compositeReconciler) compositionOf(ctx context.Context) (string, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(compositionKind)
	if err := r.client.List(ctx, list); err != nil {
		return "", err
	}
	for _, composition := range list.Items {
		kind, _, _ := unstructured.NestedString(composition.Object, "spec", "compositeTypeRef", "kind")
		if kind == r.kind.gvk.Kind {
			return composition.GetName(), nil
		}
	}
	return "", fmt.Errorf("no composition is for %s", r.kind.gvk.Kind)
}

func (r *compositeReconciler) latestRevision(ctx context.Context, composition string,
) (*unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(revisionKind)
	ofComposition := client.MatchingLabels{"crossplane.io/composition-name": composition}
	if err := r.client.List(ctx, list, ofComposition); err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("composition %s has no revision", composition)
	}
	number := func(revision unstructured.Unstructured) int64 {
		number, _, _ := unstructured.NestedInt64(revision.Object, "spec", "revision")
		return number
	}
	latest := slices.MaxFunc(list.Items, func(a, b unstructured.Unstructured) int {
		return int(number(a) - number(b))
	})
	return &latest, nil
}

// ofRevision wakes those that use its composition.
func (r *compositeReconciler) ofRevision(ctx context.Context, revision client.Object) []reconcile.Request {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(r.kind.gvk)
	if err := r.client.List(ctx, list); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for _, xr := range list.Items {
		name, _, _ := unstructured.NestedString(xr.Object, r.path("compositionRef", "name")...)
		if name == revision.GetLabels()["crossplane.io/composition-name"] {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&xr)})
		}
	}
	return requests
}

// report sends the events of a pass, and sets its conditions.
func (r *compositeReconciler) report(xr *unstructured.Unstructured, result composed) {
	for _, name := range result.unready {
		r.event(xr, corev1.EventTypeNormal, "ComposeResources",
			fmt.Sprintf("Composed resource %q is not yet ready", name))
	}
	setObjectCondition(xr, "Responsive", "True", "WatchCircuitClosed", "")
	setObjectCondition(xr, "Synced", "True", "ReconcileSuccess", "")
	if len(result.unready) == 0 {
		setObjectCondition(xr, "Ready", "True", "Available", "")
		return
	}
	setObjectCondition(xr, "Ready", "False", "Creating", "Unready resources: "+abbreviated(result.unready))
}

// abbreviated gives the first three.
func abbreviated(names []string) string {
	switch {
	case len(names) == 3:
		return fmt.Sprintf("%s, %s, and %s", names[0], names[1], names[2])
	case len(names) > 3:
		return fmt.Sprintf("%s, and %d more", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}

func (r *compositeReconciler) path(fields ...string) []string {
	return append(slices.Clone(r.kind.machinery), fields...)
}

func (r *compositeReconciler) event(xr *unstructured.Unstructured, eventType, reason, message string) {
	r.recorder.Event(xr, eventType, reason, message)
}

// jittered is a tenth more or less; 0 of 0.
func jittered(ttl time.Duration) time.Duration {
	return time.Duration(float64(ttl) * (0.9 + 0.2*rand.Float64()))
}
