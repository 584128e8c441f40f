package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// exists is an InstancesV2 that calls the function when it is asked whether an instance
// exists or is shut down.
type exists func(ctx context.Context) (bool, error)

func (exists) InstanceMetadata(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	return nil, cloudprovider.NotImplemented
}
func (e exists) InstanceExists(ctx context.Context, _ *corev1.Node) (bool, error) { return e(ctx) }
func (e exists) InstanceShutdown(ctx context.Context, _ *corev1.Node) (bool, error) {
	return e(ctx)
}

func (v *oldVendor) InstanceExistsByProviderID(context.Context, string) (bool, error) {
	return !v.gone, v.called("InstanceExistsByProviderID")
}

func (v *oldVendor) InstanceShutdownByProviderID(context.Context, string) (bool, error) {
	return v.gone, v.called("InstanceShutdownByProviderID")
}

var notFound = cloudprovider.InstanceNotFound

// status is an error with a method that returns the HTTP status, as in some SDKs.
type status int

func (s status) Error() string       { return fmt.Sprintf("status %d", int(s)) }
func (s status) HTTPStatusCode() int { return int(s) }

// endless is an error that wraps itself.
type endless struct{}

func (endless) Error() string   { return "endless" }
func (e endless) Unwrap() error { return e }

func TestOnlyTheCloudsOwnAnswerIsAnAbsence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			name   string
			answer func(ctx context.Context) (bool, error)
			want   Existence
			kind   Kind
		}{
			{"Present", func(context.Context) (bool, error) { return true, nil }, Existence{Present: true}, Succeeded},
			{"Absent", func(context.Context) (bool, error) { return false, nil }, Existence{}, Succeeded},
			{"NotFoundIsAnError", func(context.Context) (bool, error) { return false, notFound }, Existence{NotFound: true}, NotFound},
			{"NotFoundMayBeWrapped", func(context.Context) (bool, error) { return false, fmt.Errorf("i-1: %w", notFound) }, Existence{NotFound: true}, NotFound},
			{"NotFoundBesideAnotherErrorSaysNothing", func(context.Context) (bool, error) {
				return false, errors.Join(errors.New("zone a: connection refused"), notFound)
			}, Existence{}, NotFound},
			{"NotFoundAndPresentSaysNothing", func(context.Context) (bool, error) { return true, notFound }, Existence{Present: true}, NotFound},
			{"NotFoundAfterTheDeadlineSaysNothing", func(ctx context.Context) (bool, error) { <-ctx.Done(); return false, notFound }, Existence{}, TimedOut},
			{"TextOfNotFoundSaysNothing", func(context.Context) (bool, error) { return false, errors.New(notFound.Error()) }, Existence{}, Failed},
			{"Status404SaysNothing", func(context.Context) (bool, error) { return false, status(http.StatusNotFound) }, Existence{}, Failed},
			{"ErrorThatWrapsItselfSaysNothing", func(context.Context) (bool, error) { return false, endless{} }, Existence{}, Failed},
			{"AnyOtherErrorIsNoAnswer", func(context.Context) (bool, error) { return false, errors.New("no") }, Existence{}, Failed},
			{"PanicIsNoAnswer", func(context.Context) (bool, error) { panic("no") }, Existence{}, Panicked},
			{"AbsentAfterTheDeadlineIsAnError", func(ctx context.Context) (bool, error) { <-ctx.Done(); return false, nil }, Existence{}, TimedOut},
			{"PresentAfterTheDeadlineIsPresent", func(ctx context.Context) (bool, error) { <-ctx.Done(); return true, nil }, Existence{Present: true}, Succeeded},
		} {
			i := gateway(t, vendor{v2: exists(tt.answer)}, Config{ReadTimeout: time.Second}).Instances()
			began := time.Now()
			got, err := i.Existence(t.Context(), node("n"))
			if KindOf(err) != tt.kind || got.Present != tt.want.Present || got.NotFound != tt.want.NotFound {
				t.Errorf("%s: %+v, error %v, want %+v and kind %v", tt.name, got, err, tt.want, tt.kind)
			}
			if (err == nil || got.NotFound) && !got.Asked.Equal(began) {
				t.Errorf("%s: asked %v after the question", tt.name, got.Asked.Sub(began))
			}
		}
	})
}

func TestExistenceByTheOlderInterface(t *testing.T) {
	for _, tt := range []struct {
		name       string
		providerID string
		gone       bool
		errs       map[string]error
		calls      []string
		present    bool
		kind       Kind
	}{
		{name: "ByProviderID", providerID: "p://i-1", calls: []string{"InstanceExistsByProviderID"}, present: true, kind: Succeeded},
		{name: "Gone", providerID: "p://i-1", gone: true, calls: []string{"InstanceExistsByProviderID"}, kind: Succeeded},
		{name: "ByName", calls: []string{"InstanceID", "InstanceExistsByProviderID"}, present: true, kind: Succeeded},
		{
			name: "NoInstanceOfThatNameIsAbsent", errs: map[string]error{"InstanceID": fmt.Errorf("a: %w", cloudprovider.InstanceNotFound)},
			calls: []string{"InstanceID"}, kind: Succeeded,
		},
		{
			name: "NotFoundBesideAnotherErrorIsNoAnswer", errs: map[string]error{"InstanceID": errors.Join(errors.New("zone a: connection refused"), cloudprovider.InstanceNotFound)},
			calls: []string{"InstanceID"}, kind: NotFound,
		},
		{name: "NamelessProviderCannotTell", errs: map[string]error{"InstanceID": cloudprovider.NotImplemented}, calls: []string{"InstanceID"}, kind: NotImplemented},
		{
			name: "NotFoundByProviderIDIsAnError", providerID: "p://i-1", errs: map[string]error{"InstanceExistsByProviderID": cloudprovider.InstanceNotFound},
			calls: []string{"InstanceExistsByProviderID"}, present: true, kind: NotFound,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			old := &oldVendor{errs: tt.errs, gone: tt.gone}
			n := node("n")
			n.Spec.ProviderID = tt.providerID
			got, err := gateway(t, vendor{v1: old}, Config{}).Instances().Existence(t.Context(), n)
			if KindOf(err) != tt.kind || got.Present != tt.present {
				t.Errorf("present = %v, error %v, want %v and kind %v", got.Present, err, tt.present, tt.kind)
			}
			if diff := cmp.Diff(tt.calls, old.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

func TestShutdown(t *testing.T) {
	for _, down := range []bool{true, false} {
		i := gateway(t, vendor{v2: exists(func(context.Context) (bool, error) { return down, nil })}, Config{}).Instances()
		if got, err := i.Shutdown(t.Context(), node("n")); err != nil || got != down {
			t.Errorf("shut down = %v, %v, want %v", got, err, down)
		}
		old := &oldVendor{gone: down}
		if got, err := gateway(t, vendor{v1: old}, Config{}).Instances().Shutdown(t.Context(), node("n")); err != nil || got != down {
			t.Errorf("shut down = %v, %v by the older interface, want %v", got, err, down)
		}
		if diff := cmp.Diff([]string{"InstanceID", "InstanceShutdownByProviderID"}, old.calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	}
}

func TestAnswersAboutExistenceAreNotShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		i := gateway(t, vendor{v2: exists(func(context.Context) (bool, error) {
			calls++
			time.Sleep(10 * time.Second)
			return false, nil
		})}, Config{}).Instances()
		first := make(chan error)
		go func() { _, err := i.Existence(t.Context(), node("n")); first <- err }()
		synctest.Wait()
		if _, err := i.Existence(t.Context(), node("n")); KindOf(err) != Slow {
			t.Errorf("the second question got %v, want Slow", err)
		}
		if err := <-first; err != nil {
			t.Error(err)
		}
		if _, err := i.Existence(t.Context(), node("n")); err != nil || calls != 2 {
			t.Errorf("error %v after %d calls, want a second call", err, calls)
		}
	})
}

func TestLateAnswerAboutExistenceSaysWhenItWasAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := gateway(t, vendor{v2: exists(func(context.Context) (bool, error) {
			time.Sleep(time.Minute)
			return false, nil
		})}, Config{CallerTimeout: 30 * time.Second}).Instances()
		began := time.Now()
		if _, err := i.Existence(t.Context(), node("n")); KindOf(err) != Slow {
			t.Errorf("error %v, want Slow", err)
		}
		time.Sleep(40 * time.Second)
		got, err := i.Existence(t.Context(), node("n"))
		if err != nil || !got.Asked.Equal(began) {
			t.Errorf("asked at %v, error %v, want the beginning of the call at %v", got.Asked, err, began)
		}
	})
}
