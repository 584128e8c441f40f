package ownership

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestExclusion(t *testing.T) {
	restricted := Claim{RestrictedLabels: true}
	for name, c := range map[string]struct {
		claim                  Claim
		label, value           string
		excludedBy, ignoredFor string
	}{
		"OrdinaryNode":                         {label: "a"},
		"LabelWithoutValue":                    {label: LabelExclude, excludedBy: LabelExclude},
		"LabelThatSaysFalse":                   {label: LabelExclude, value: "False"},
		"AnotherLabel":                         {label: "fairlead.dev/excluded"},
		"RestrictedLabel":                      {label: LabelExcludeRestricted, excludedBy: LabelExcludeRestricted},
		"RestrictedLabelThatSaysFalse":         {label: LabelExcludeRestricted, value: "false"},
		"LabelOfAKubeletIsIgnoredByTheFlag":    {claim: restricted, label: LabelExclude, ignoredFor: LabelExclude},
		"FalseOfAKubeletNeedsNoIgnoring":       {claim: restricted, label: LabelExclude, value: "false"},
		"ProviderOfAnother":                    {label: LabelProvider, value: "x", excludedBy: LabelProvider},
		"NoProvider":                           {label: LabelProvider, value: "none", excludedBy: LabelProvider},
		"ProviderOfAKubeletIsIgnored":          {claim: restricted, label: LabelProvider, value: "x", ignoredFor: LabelProvider},
		"RestrictedProvider":                   {claim: restricted, label: LabelProviderRestricted, value: "none", excludedBy: LabelProviderRestricted},
		"RestrictedLabelIsHonouredWithTheFlag": {claim: restricted, label: LabelExcludeRestricted, excludedBy: LabelExcludeRestricted},
	} {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{c.label: c.value}}}
			if got := c.claim.Label(node); got != c.excludedBy {
				t.Errorf("excluded by %q, want %q", got, c.excludedBy)
			}
			fromAll := c.excludedBy
			if c.value == "x" { // another daemon may have this provider
				fromAll = ""
			}
			if got := c.claim.Excludes(node); got != fromAll {
				t.Errorf("excluded from every daemon by %q, want %q", got, fromAll)
			}
			if got := c.claim.Ignored(node); got != c.ignoredFor {
				t.Errorf("ignored: %q, want %q", got, c.ignoredFor)
			}
			if why, got := c.claim.LeavesAlone(node); got != (c.excludedBy != "") || got != (why != "") {
				t.Errorf("left alone: %v (%q)", got, why)
			}
		})
	}
}

func TestNodeThatIsBeingDeletedIsLeftAlone(t *testing.T) {
	now := metav1.Now()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}}
	if why, alone := (Claim{}).LeavesAlone(node); !alone || why == "" {
		t.Errorf("got %v (%q), want true", alone, why)
	}
	if why, disowned := (Claim{}).Disowns(node); disowned {
		t.Errorf("it is disowned: %s", why)
	}
}
