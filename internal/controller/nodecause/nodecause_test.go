package nodecause

import (
	"errors"
	"slices"
	"strings"
	"testing"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

func TestUnclassifiedErrorIsCloudFailed(t *testing.T) {
	got := Of(errors.New("broken"))
	if got.Reason != "CloudFailed" || !strings.HasSuffix(got.Message, " The call is retried. (broken)") {
		t.Errorf("cause %+v, want CloudFailed with the error", got)
	}
}

func TestNotFoundIsNoAnswerAboutExistence(t *testing.T) {
	notFound := &cloud.Error{Kind: cloud.NotFound, Err: cloudprovider.InstanceNotFound}
	if got := Of(notFound).Reason; got != "InstanceNotFound" {
		t.Errorf("reason %s of a question about metadata, want InstanceNotFound", got)
	}
	if got := OfExistence(notFound).Reason; got != "CloudFailed" {
		t.Errorf("reason %s of a question about existence, want CloudFailed", got)
	}
}

func TestReasonsAreExplained(t *testing.T) {
	for _, r := range Reasons("T") {
		if r.Name == "" || r.On != "Node" || r.Condition != "T" || r.When == "" || r.Do == "" {
			t.Errorf("%+v is incomplete", r)
		}
	}
	if slices.ContainsFunc(ReasonsOfExistence("T"), func(r message.Reason) bool { return r.Name == "InstanceNotFound" }) {
		t.Error("InstanceNotFound must not be among the reasons of OfExistence")
	}
}
