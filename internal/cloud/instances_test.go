package cloud

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

func TestNilMetadataIsNoAnswer(t *testing.T) {
	v := vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) { return nil, nil })}
	if _, err := gateway(t, v, Config{}).Instances().Metadata(t.Context(), node("n")); KindOf(err) != NoAnswer {
		t.Errorf("kind = %v of %v, want %v", KindOf(err), err, NoAnswer)
	}
}

func TestProviderGetsACopyAndKeepsItsResult(t *testing.T) {
	theirs := &cloudprovider.InstanceMetadata{
		ProviderID: "p://1", NodeAddresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.1.1"}}, AdditionalLabels: map[string]string{"a": "1"},
	}
	v := vendor{v2: metadata(func(_ context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
		n.Name = "changed"
		return theirs, nil
	})}
	mine := node("n")
	got, err := gateway(t, v, Config{}).Instances().Metadata(t.Context(), mine)
	if err != nil {
		t.Fatal(err)
	}
	got.Addresses[0].Address, got.Labels["a"] = "changed", "changed"
	if mine.Name != "n" {
		t.Error("the provider has changed the caller's Node")
	}
	if theirs.NodeAddresses[0].Address != "127.0.1.1" || theirs.AdditionalLabels["a"] != "1" {
		t.Errorf("the caller has changed the provider's object: %+v", theirs)
	}
}

// batching is an InstancesV2 that can also describe many Nodes in one call.
type batching struct {
	metadata
	answer func(nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error)
}

func (b batching) InstanceMetadataBatch(_ context.Context, nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
	return b.answer(nodes)
}
func (batching) MaxInstanceMetadataBatch() int { return 2 }

func TestBatchGetsCopies(t *testing.T) {
	v := vendor{v2: batching{answer: func(nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
		nodes[0].Name = "changed"
		return make([]provider.InstanceMetadataAnswer, 1), nil
	}}}
	mine := node("n")
	gateway(t, v, Config{}).Instances().Refresh(t.Context(), []*corev1.Node{mine})
	if mine.Name != "n" {
		t.Error("the provider has changed the caller's Node")
	}
}

func TestLateAnswerToABatchIsForThatBatchOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := vendor{v2: batching{answer: func(nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
			var answers []provider.InstanceMetadataAnswer
			for _, n := range nodes {
				if n.Name == "b" {
					time.Sleep(40 * time.Second)
				}
				answers = append(answers, provider.InstanceMetadataAnswer{Metadata: &cloudprovider.InstanceMetadata{ProviderID: n.Name}})
			}
			return answers, nil
		}}}
		i := gateway(t, v, Config{}).Instances()
		if got := i.Refresh(t.Context(), []*corev1.Node{node("a"), node("b")}); KindOf(got[1].Err) != Slow {
			t.Errorf("answers = %+v, want none yet", got)
		}
		time.Sleep(time.Minute)
		if got := i.Refresh(t.Context(), []*corev1.Node{node("a"), node("c")}); got[1].Metadata.ProviderID != "c" {
			t.Errorf("answers = %+v, want that of node c", got)
		}
	})
}

func TestRefreshAsksInBatchesWhereTheProviderCan(t *testing.T) {
	nodes := []*corev1.Node{node("a"), node("b")}
	refresh := func(answer func(nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error)) []Answer {
		i := gateway(t, vendor{v2: batching{answer: answer}}, Config{}).Instances()
		if i.BatchSize() != 2 {
			t.Errorf("batch size %d, want the provider's", i.BatchSize())
		}
		return i.Refresh(t.Context(), nodes)
	}
	got := refresh(func(nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
		return []provider.InstanceMetadataAnswer{{Metadata: &cloudprovider.InstanceMetadata{ProviderID: nodes[0].Name}}, {Err: cloudprovider.InstanceNotFound}}, nil
	})
	if len(got) != 2 || got[0].Metadata.ProviderID != "a" || got[0].Err != nil || KindOf(got[1].Err) != NotFound {
		t.Errorf("answers = %+v, want one for each node", got)
	}
	for name, answer := range map[string]func([]*corev1.Node) ([]provider.InstanceMetadataAnswer, error){
		"ThereIsNoAnswerAtAll": func([]*corev1.Node) ([]provider.InstanceMetadataAnswer, error) { return nil, httpError(503) },
		"AnswersAreAllNil": func([]*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
			return make([]provider.InstanceMetadataAnswer, 2), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			for n, got := range refresh(answer) {
				if got.Err == nil {
					t.Errorf("node %d got an answer", n)
				}
			}
		})
	}
}

func TestNodesOfABatchThatFailsAreAskedForOneByOne(t *testing.T) {
	single := metadata(func(_ context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
		if n.Name == "odd" {
			panic("cannot cope with it")
		}
		return &cloudprovider.InstanceMetadata{ProviderID: n.Name}, nil
	})
	for name, answer := range map[string]func([]*corev1.Node) ([]provider.InstanceMetadataAnswer, error){
		"TheCallFails": func([]*corev1.Node) ([]provider.InstanceMetadataAnswer, error) { return nil, errors.New("no") },
		"AnswersAreMissing": func([]*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
			return make([]provider.InstanceMetadataAnswer, 1), nil
		},
		"TheProviderPanicked": func([]*corev1.Node) ([]provider.InstanceMetadataAnswer, error) { panic("cannot cope with it") },
	} {
		t.Run(name, func(t *testing.T) {
			i := gateway(t, vendor{v2: batching{metadata: single, answer: answer}}, Config{}).Instances()
			got := i.Refresh(t.Context(), []*corev1.Node{node("odd"), node("even")})
			if KindOf(got[0].Err) != Panicked || got[1].Err != nil || got[1].Metadata.ProviderID != "even" {
				t.Errorf("answers = %+v, want that of the other node in spite of the odd one", got)
			}
		})
	}
}

func TestNewerInterfaceWinsAndZonesAreNotAsked(t *testing.T) {
	old := &oldVendor{}
	v := vendor{v1: old, zones: old, v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
		return &cloudprovider.InstanceMetadata{ProviderID: "p://2"}, nil
	})}
	got, err := gateway(t, v, Config{}).Instances().Metadata(t.Context(), node("n"))
	if err != nil || got.ProviderID != "p://2" || len(old.calls) != 0 {
		t.Errorf("metadata = %+v, %v with calls %v of the older interfaces", got, err, old.calls)
	}
}
