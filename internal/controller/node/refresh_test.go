package node

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

func TestPageAfter(t *testing.T) {
	for _, tt := range []struct {
		name  string
		names []string
		last  string
		page  int
		want  []string
	}{
		{"PageOfNoNodesIsEmpty", nil, "b", 2, nil},
		{"FirstPage", []string{"c", "a", "b"}, "", 2, []string{"a", "b"}},
		{"LastPageMayBeShort", []string{"a", "b", "c"}, "b", 2, []string{"c"}},
		{"FirstPageFollowsTheLast", []string{"a", "b", "c"}, "c", 2, []string{"a", "b"}},
		{"NodeThatIsGoneIsSkipped", []string{"a", "c"}, "b", 1, []string{"c"}},
		{"NodeThatJoinedIsNext", []string{"a", "b", "c"}, "a", 1, []string{"b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := newIndex()
			for _, name := range tt.names {
				all.set(name, true)
			}
			want := tt.want
			if got, _ := all.page(tt.last, tt.page); !slices.Equal(got, want) {
				t.Errorf("page of the index %v, want %v", got, want)
			}
			if diff := cmp.Diff(want, pageAfter(tt.names, tt.last, tt.page), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("page (-want +got):\n%s", diff)
			}
		})
	}
}

// overlapping is a cloud with an instance that is resized while the first question about
// it is under way. The first answer has the old size, and comes last.
type overlapping struct {
	describing

	asked atomic.Int32
}

func (o *overlapping) Refresh(context.Context, []*corev1.Node) []cloud.Answer {
	if o.asked.Add(1) == 1 {
		time.Sleep(time.Minute)
		return []cloud.Answer{{Metadata: cloud.Metadata{ProviderID: "p://1", Type: "old"}}}
	}
	return []cloud.Answer{{Metadata: cloud.Metadata{ProviderID: "p://1", Type: "new"}}}
}

// Two questions about one Node can overlap: one of the comparison, and one because the
// watch has named the Node. An answer is as old as its question.
func TestOldAnswerReplacesNoNewerOne(t *testing.T) {
	for name, isUsed := range map[string]bool{"NewerAnswerWaitsForAPass": false, "PassHasUsedTheNewerAnswer": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				informer := kube.NewInformerFactory(fake.NewClientset(), 0, nil).Core().V1().Nodes()
				node := settled()
				if err := informer.Informer().GetStore().Add(node); err != nil {
					t.Fatal(err)
				}
				c := New(Deps{Informer: informer, Instances: &overlapping{}}, Config{})
				ended, end := context.WithCancel(t.Context())
				end()
				defer func() { _ = c.loop.Run(ended) }() // ends the queue
				first := make(chan []string)
				go func() {
					differ, _ := c.fetch(t.Context(), []string{"n1"})
					first <- differ
				}()
				time.Sleep(30 * time.Second)
				c.fetch(t.Context(), []string{"n1"})
				want := "new"
				if isUsed {
					c.observe(node)
					want = "" // There is no answer for the next pass.
				}
				<-first
				if got := c.observe(node).answer.instance.size; got != want {
					t.Errorf("the next pass sees the type %q, want %q", got, want)
				}
			})
		})
	}
}
