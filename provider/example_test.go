package provider_test

import (
	"context"
	"fmt"
	"strconv"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// pages is a cloud whose list has two pages.
type pages struct{ cloudprovider.InstancesV2 }

func (pages) ListInstances(_ context.Context, token string) (provider.InstancePage, error) {
	if token == "" {
		return provider.InstancePage{Instances: []cloudprovider.InstanceMetadata{{ProviderID: "example://i-1"}}, Next: "i-1"}, nil
	}
	return provider.InstancePage{Instances: []cloudprovider.InstanceMetadata{{ProviderID: "example://i-2"}}}, nil
}

func ExampleInstanceLister() {
	var lister provider.InstanceLister = pages{}
	for token, more := "", true; more; {
		page, err := lister.ListInstances(context.Background(), token)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, i := range page.Instances {
			fmt.Println(i.ProviderID)
		}
		token, more = page.Next, page.Next != ""
	}
	// Output:
	// example://i-1
	// example://i-2
}

// journal is a cloud that numbers its changes, and has dropped the first ones.
type journal struct {
	cloudprovider.InstancesV2

	changes []string // the first one has the number 100
}

func (j journal) WatchInstances(_ context.Context, token string) (provider.InstanceChanges, error) {
	last := 99 + len(j.changes)
	if token == "" {
		return provider.InstanceChanges{Resume: strconv.Itoa(last)}, nil
	}
	var since int
	if _, err := fmt.Sscan(token, &since); err != nil || since < 99 || since > last {
		return provider.InstanceChanges{}, fmt.Errorf("changes since %q: %w", token, provider.ErrWatchExpired)
	}
	answer := provider.InstanceChanges{Resume: strconv.Itoa(last)}
	for _, id := range j.changes[since-99:] {
		answer.Changed = append(answer.Changed, provider.InstanceRef{ProviderID: id})
	}
	return answer, nil // A real one waits here while there is no change.
}

func ExampleInstanceWatcher() {
	var watcher provider.InstanceWatcher = journal{changes: []string{"example://i-1", "example://i-2"}}
	for _, token := range []string{"100", "7"} {
		answer, err := watcher.WatchInstances(context.Background(), token)
		fmt.Println(answer.Changed, answer.Resume, err)
	}
	// Output:
	// [{example://i-2 }] 101 <nil>
	// []  changes since "7": the token of the watch has expired
}
