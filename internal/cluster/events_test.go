package cluster

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Events of the new form have other fields for their times.
func TestTimesOfAnEvent(t *testing.T) {
	e := corev1.Event{EventTime: metav1.NewMicroTime(noon), Series: &corev1.EventSeries{Count: 4, LastObservedTime: metav1.NewMicroTime(noon.Add(time.Minute))}}
	if first, last, times := When(&e); !first.Equal(noon) || !last.Equal(noon.Add(time.Minute)) || times != 4 {
		t.Errorf("%v, %v, %d times", first, last, times)
	}
	e.Series = nil
	if first, last, times := When(&e); !first.Equal(noon) || !last.Equal(noon) || times != 1 {
		t.Errorf("%v, %v, %d times", first, last, times)
	}
}
