package main

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	finalizer       = "finalizer.managedresource.crossplane.io"
	externalName    = "crossplane.io/external-name"
	createPending   = "crossplane.io/external-create-pending"
	createSucceeded = "crossplane.io/external-create-succeeded"
	createFailed    = "crossplane.io/external-create-failed"

	// For so long "not found" is not believed after a Create, during a deletion neither.
	creationGrace    = 30 * time.Second
	reconcileTimeout = time.Minute
	reconcileGrace   = 30 * time.Second
)

var again = reconcile.Result{Requeue: true} //nolint:staticcheck // As crossplane-runtime asks for it: with back-off.

// reconciler makes one pass over an object.
type reconciler struct {
	client   client.Client
	recorder record.EventRecorder
	kind     kind
	cloud    *cloud
	poll     time.Duration
}

// Reconcile tries again in silence what met a conflict.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout+reconcileGrace)
	defer cancel()
	result, err := r.pass(ctx, request)
	if apierrors.IsConflict(err) {
		return again, nil
	}
	return result, err
}

func (r *reconciler) pass(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	object := r.kind.empty()
	if err := r.client.Get(ctx, request.NamespacedName, object); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	thing := object.thing()
	if r.kind.isNamedByUser && thing.Annotations[externalName] == "" {
		metav1.SetMetaDataAnnotation(&thing.ObjectMeta, externalName, thing.Name)
		if err := r.client.Update(ctx, object); err != nil {
			return reconcile.Result{}, err
		}
	}
	if isCreateIncomplete(thing) {
		r.event(object, corev1.EventTypeWarning, "CannotInitializeManagedResource",
			"cannot determine creation result - remove the "+createPending+" annotation if it is safe to proceed")
		thing.Status.setCondition(creating(thing.Generation))
		thing.Status.setCondition(synced(thing.Generation, corev1.ConditionFalse, "ReconcileError"))
		return reconcile.Result{}, r.client.Status().Update(ctx, object)
	}

	observed := r.cloud.observe(thing.Annotations[externalName], thing.Spec.ForProvider)
	if observed.exists {
		status := observed.status
		thing.Status.AtProvider = &status
		thing.Status.setCondition(ready(0, corev1.ConditionTrue, "Available"))
	} else if succeeded := timeOf(thing, createSucceeded); time.Since(succeeded) < creationGrace {
		r.event(object, corev1.EventTypeNormal, "PendingExternalResource",
			"Waiting for external resource existence to be confirmed")
		return again, nil
	}
	if !thing.DeletionTimestamp.IsZero() {
		return r.delete(ctx, object, observed)
	}
	if controllerutil.AddFinalizer(object, finalizer) {
		if err := r.client.Update(ctx, object); err != nil {
			return reconcile.Result{}, err
		}
	}
	switch {
	case !observed.exists:
		return r.create(ctx, object)
	case !observed.upToDate:
		r.cloud.update(thing.Annotations[externalName], thing.Spec.ForProvider)
		r.event(object, corev1.EventTypeNormal, "UpdatedExternalResource",
			"Successfully requested update of external resource")
	}
	// Also where nothing has changed.
	return r.finish(ctx, object, reconcile.Result{RequeueAfter: r.poll})
}

func (r *reconciler) create(ctx context.Context, object managed) (reconcile.Result, error) {
	thing := object.thing()
	setTime(thing, createPending)
	// It fails on a version that is out of date, and then nothing is created.
	if err := r.client.Update(ctx, object); err != nil {
		return reconcile.Result{}, err
	}
	name := r.cloud.create(thing.Annotations[externalName], thing.Spec.ForProvider)
	metav1.SetMetaDataAnnotation(&thing.ObjectMeta, externalName, name)
	setTime(thing, createSucceeded)
	if err := r.updateCriticalAnnotations(ctx, object); err != nil {
		return reconcile.Result{}, err
	}
	r.event(object, corev1.EventTypeNormal, "CreatedExternalResource",
		"Successfully requested creation of external resource")
	thing.Status.setCondition(creating(thing.Generation))
	return r.finish(ctx, object, again)
}

// updateCriticalAnnotations writes on top of a newer version, too: what they say must not be lost.
func (r *reconciler) updateCriticalAnnotations(ctx context.Context, object managed) error {
	annotations := object.GetAnnotations()
	return retry.OnError(retry.DefaultRetry, func(err error) bool { return ctx.Err() == nil }, func() error {
		err := r.client.Update(ctx, object)
		if !apierrors.IsConflict(err) {
			return err
		}
		if getErr := r.client.Get(ctx, client.ObjectKeyFromObject(object), object); getErr != nil {
			return getErr
		}
		for key, value := range annotations {
			metav1.SetMetaDataAnnotation(&object.thing().ObjectMeta, key, value)
		}
		return err
	})
}

func (r *reconciler) delete(ctx context.Context, object managed, observed observation) (reconcile.Result, error) {
	thing := object.thing()
	if slices.ContainsFunc(thing.Finalizers, func(held string) bool { return held != finalizer }) {
		return again, nil
	}
	if observed.exists {
		r.cloud.remove(thing.Annotations[externalName])
		r.event(object, corev1.EventTypeNormal, "DeletedExternalResource",
			"Successfully requested deletion of external resource")
		thing.Status.setCondition(ready(thing.Generation, corev1.ConditionFalse, "Deleting"))
		return r.finish(ctx, object, again)
	}
	controllerutil.RemoveFinalizer(object, finalizer)
	return reconcile.Result{}, client.IgnoreNotFound(r.client.Update(ctx, object))
}

// finish writes the status of a pass that was a success.
func (r *reconciler) finish(ctx context.Context, object managed, result reconcile.Result) (reconcile.Result, error) {
	thing := object.thing()
	thing.Status.setCondition(synced(thing.Generation, corev1.ConditionTrue, "ReconcileSuccess"))
	return result, r.client.Status().Update(ctx, object)
}

func (r *reconciler) event(object managed, eventType, reason, message string) {
	annotations := map[string]string{"external-name": object.GetAnnotations()[externalName]}
	r.recorder.AnnotatedEventf(object, annotations, eventType, reason, "%s", message)
}

func creating(generation int64) Condition {
	return ready(generation, corev1.ConditionFalse, "Creating")
}

func ready(generation int64, status corev1.ConditionStatus, reason string) Condition {
	return condition("Ready", generation, status, reason)
}

func synced(generation int64, status corev1.ConditionStatus, reason string) Condition {
	return condition("Synced", generation, status, reason)
}

func condition(name string, generation int64, status corev1.ConditionStatus, reason string) Condition {
	return Condition{
		Type: name, Status: status, Reason: reason,
		ObservedGeneration: generation, LastTransitionTime: metav1.Now(),
	}
}

// timeOf gives the zero time where there is none.
func timeOf(thing *Thing, annotation string) time.Time {
	moment, err := time.Parse(time.RFC3339, thing.Annotations[annotation])
	if err != nil {
		return time.Time{}
	}
	return moment
}

func setTime(thing *Thing, annotation string) {
	metav1.SetMetaDataAnnotation(&thing.ObjectMeta, annotation, time.Now().Format(time.RFC3339))
}

// isCreateIncomplete: a Create began, and how it ended was not written.
func isCreateIncomplete(thing *Thing) bool {
	pending := timeOf(thing, createPending)
	return pending.After(timeOf(thing, createSucceeded)) && pending.After(timeOf(thing, createFailed))
}
