package cloud

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

func TestThreePanicsAskForARestart(t *testing.T) {
	v := vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) { panic("lost a map") })}
	g := gateway(t, v, Config{})
	for n := range 3 {
		select {
		case err := <-g.RestartNeeded():
			t.Fatalf("restart after %d panics: %v", n, err)
		default:
		}
		if _, err := g.Instances().Metadata(t.Context(), node("n")); KindOf(err) != Panicked || !strings.Contains(err.Error(), "lost a map") {
			t.Errorf("error = %v, want the panic", err)
		}
	}
	select {
	case err := <-g.RestartNeeded():
		t.Log(err)
	default:
		t.Error("no restart after three panics")
	}
}

func TestHangAfterAPanicAsksForARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		calls := 0
		v := vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			if calls++; calls == 1 {
				panic("with the lock taken")
			}
			<-release
			return &cloudprovider.InstanceMetadata{}, nil
		})}
		g := gateway(t, v, Config{ReadTimeout: time.Minute})
		for range 2 {
			_, _ = g.Instances().Metadata(t.Context(), node("n"))
		}
		select {
		case err := <-g.RestartNeeded():
			t.Errorf("restart before the deadline: %v", err)
		default:
		}
		select {
		case err := <-g.RestartNeeded():
			t.Log(err)
		case <-time.After(2 * time.Minute):
			t.Error("no restart although a call hangs after a panic")
		}
		close(release)
	})
}

func TestHangAloneAsksForNoRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		v := vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			<-release
			return &cloudprovider.InstanceMetadata{}, nil
		})}
		g := gateway(t, v, Config{ReadTimeout: time.Minute})
		_, _ = g.Instances().Metadata(t.Context(), node("n"))
		time.Sleep(time.Hour)
		select {
		case err := <-g.RestartNeeded():
			t.Errorf("restart for a hang: %v", err)
		default:
		}
		close(release)
	})
}
