package showing

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// shown returns a condition as a Node shows it at noon. It was last written the given
// time ago, and has had its status for an hour.
func shown(status corev1.ConditionStatus, cause message.Cause, age time.Duration) *corev1.NodeCondition {
	return &corev1.NodeCondition{
		Type: "T", Status: status, Reason: cause.Reason, Message: cause.Message,
		LastHeartbeatTime: metav1.NewTime(noon.Add(-age)), LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour)),
	}
}

func TestIsDue(t *testing.T) {
	cause := message.Cause{Reason: "A", Message: "m"}
	want := Condition{Type: "T", Status: corev1.ConditionTrue, Cause: cause}
	for _, tt := range []struct {
		name  string
		shown *corev1.NodeCondition
		want  bool
	}{
		{"FirstConditionIsWritten", nil, true},
		{"OtherStatusIsCorrectedAtOnce", shown(corev1.ConditionFalse, cause, 0), true},
		{"SameConditionIsNotRewritten", shown(corev1.ConditionTrue, cause, time.Hour), false},
		{"OtherReasonWaitsAMinute", shown(corev1.ConditionTrue, message.Cause{Reason: "B", Message: "m"}, 59*time.Second), false},
		{"OtherReasonIsWrittenAfterAMinute", shown(corev1.ConditionTrue, message.Cause{Reason: "B", Message: "m"}, time.Minute), true},
		{"OtherMessageWaitsFiveMinutes", shown(corev1.ConditionTrue, message.Cause{Reason: "A", Message: "n"}, 299*time.Second), false},
		{"OtherMessageIsWrittenAfterFiveMinutes", shown(corev1.ConditionTrue, message.Cause{Reason: "A", Message: "n"}, 5*time.Minute), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := want.IsDue(noon, tt.shown); got != tt.want {
				t.Errorf("IsDue = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTransitionTimeStaysWithTheStatus(t *testing.T) {
	cause := message.Cause{Reason: "A", Message: "m"}
	want := Condition{Type: "T", Status: corev1.ConditionTrue, Cause: cause}
	for name, tt := range map[string]struct {
		shown *corev1.NodeCondition
		want  time.Time
	}{
		"NoConditionBefore": {nil, noon},
		"SameStatus":        {shown(corev1.ConditionTrue, cause, time.Minute), noon.Add(-time.Hour)},
		"OtherStatus":       {shown(corev1.ConditionFalse, cause, time.Minute), noon},
	} {
		t.Run(name, func(t *testing.T) {
			got := want.At(noon, tt.shown)
			if !got.LastTransitionTime.Time.Equal(tt.want) || !got.LastHeartbeatTime.Time.Equal(noon) {
				t.Errorf("transition %v, heartbeat %v, want %v and %v", got.LastTransitionTime, got.LastHeartbeatTime, tt.want, noon)
			}
			if got.Type != "T" || got.Status != corev1.ConditionTrue || got.Reason != "A" || got.Message != "m" {
				t.Errorf("condition %+v, want %+v", got, want)
			}
		})
	}
}
