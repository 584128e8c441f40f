package provider

import "testing"

func TestDecide(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   observed
		want action
	}{
		{"StandbyTakesAnotherProvider", observed{}, create},
		{"StandbyUsesWhatItHasMade", observed{made: accepted}, replace},
		{"StandbyThatCannotMakeItAsksAnother", observed{made: rejected}, try},
		{"StandbyWhoseFactoryWorksOnceEnds", observed{made: rejected, tried: accepted}, end},
		{"StandbyWithWrongContentStays", observed{made: rejected, tried: rejected}, refuse},
		{"StandbyThatCannotAskStays", observed{made: rejected, tried: unable}, refuse},
		{"LeaderAsksAnotherFirst", observed{leads: true}, try},
		{"LeaderEndsWhenAnotherHasMadeIt", observed{leads: true, tried: accepted}, end},
		{"LeaderWithWrongContentStays", observed{leads: true, tried: rejected}, refuse},
		{"LeaderThatCannotAskMakesIt", observed{leads: true, tried: unable}, create},
		{"LeaderThatHasMadeItEnds", observed{leads: true, tried: unable, made: accepted}, end},
		{"LeaderThatCannotMakeItStays", observed{leads: true, tried: unable, made: rejected}, refuse},
		{"LeadsSinceItHasMadeIt", observed{leads: true, made: accepted}, try},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := decide(tc.in); got.do != tc.want || got.why == "" {
				t.Errorf("got %+v, want %v", got, tc.want)
			}
		})
	}
}

// Whatever the answers are, the change ends after at most four steps. The process ends
// only if a provider was made from the new content.
func TestDecideEnds(t *testing.T) {
	for _, leads := range []bool{false, true} {
		for tried := range unable + 1 {
			for _, made := range []answer{accepted, rejected} {
				o := observed{leads: leads}
				var steps []action
				for range 4 {
					p := decide(o)
					steps = append(steps, p.do)
					switch p.do {
					case try:
						o.tried = max(tried, accepted)
					case create:
						o.made = made
					case end:
						if o.tried != accepted && o.made != accepted {
							t.Errorf("%+v ends after %v", o, steps)
						}
					case refuse, replace:
					}
				}
				if last := steps[3]; last == try || last == create {
					t.Errorf("%+v has not ended after %v", o, steps)
				}
			}
		}
	}
}
