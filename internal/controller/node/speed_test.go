package node

import (
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/test/quirks"
)

// The speed of the initialisation is bounded by the cloud's quota and not by this
// controller (promise P2). The test has its own clock, so a busy machine does not
// change the result.
func TestNodesAreInitialisedAtTheSpeedOfTheQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const (
			size    = 600
			rate    = 100 // calls a second
			burst   = 200
			allowed = (size - burst) / rate * time.Second
		)
		var mu sync.Mutex
		tokens, last := float64(burst), time.Now()
		meter := func() error {
			time.Sleep(30 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			now := time.Now()
			tokens, last = min(tokens+now.Sub(last).Seconds()*rate, burst), now
			if tokens < 1 {
				return &quirks.StatusError{Status: http.StatusTooManyRequests, Text: "too many"}
			}
			tokens--
			return nil
		}
		var joined []*corev1.Node
		for n := range size {
			joined = append(joined, joins("n"+strconv.Itoa(n)))
		}
		q := beginWith(t, &vendor{before: meter}, Config{Reads: 16}, nil, joined...)
		defer func() { q.stop() }()
		q.after(allowed * 5 / 4)
		all, err := q.cluster.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		released := 0
		for _, node := range all.Items {
			if isReleased(&node) {
				released++
			}
		}
		if released != size {
			t.Errorf("%d of %d Nodes were initialised after 1.25 times the time that the quota needs", released, size)
		}
	})
}

func TestLookUpsFillTheBatches(t *testing.T) {
	for _, tt := range []struct {
		name               string
		reads, batch, want int
	}{
		{"NoBatches", 16, 1, 16},
		{"OneUnderWayAndOneThatFills", 16, 50, 100},
		{"LargeBatchesAreBounded", 16, 1000, mostLookUps},
		{"OperatorWantsMore", 300, 50, 300},
		{"OneAtATime", 1, 100, 1},
		{"Nothing", 0, 100, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := lookUps(tt.reads, tt.batch); got != tt.want {
				t.Errorf("lookUps(%d, %d) = %d, want %d", tt.reads, tt.batch, got, tt.want)
			}
		})
	}
}
