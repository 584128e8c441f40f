package timeout

import (
	"testing"
	"time"
)

func TestTimeoutOnABusyMachine(t *testing.T) {
	for name, tt := range map[string]struct{ stalled, want time.Duration }{
		"IdleMachine":                 {0, 30 * time.Second},
		"BusyForATime":                {20 * time.Second, 45 * time.Second},
		"BusyAllTheTime":              {2 * time.Minute, 2 * time.Minute},
		"NeverMoreThanFourTimes":      {time.Hour, 2 * time.Minute},
		"BusyAllTheTimeUntilJustNow":  {119 * time.Second, 119*time.Second + 250*time.Millisecond},
		"SecondOfStallIsThreeQuarter": {time.Second, 30*time.Second + 750*time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Timeout{within: 30 * time.Second}).extended(tt.stalled); got != tt.want {
				t.Errorf("extended to %v, want %v", got, tt.want)
			}
		})
	}
}

func TestClosed(t *testing.T) {
	done := make(chan struct{})
	if Closed(0, done) {
		t.Error("an open channel counts as closed")
	}
	close(done)
	if !Closed(time.Hour, done) {
		t.Error("a closed channel counts as open")
	}
}

func TestFactor(t *testing.T) {
	for name, tt := range map[string]struct {
		pressure string
		want     float64
	}{
		"Idle":            {"some avg10=0.00 avg60=0.00 avg300=0.00 total=150220288\nfull avg10=50.00 avg60=0.00 avg300=0.00 total=7\n", 1},
		"BusyNow":         {"some avg10=50.00 avg60=10.00 avg300=0.00 total=1\n", 2.5},
		"BusyMinutesAgo":  {"some avg10=0.00 avg60=10.00 avg300=100.00 total=1\n", 4},
		"NeverMoreThan4":  {"some avg10=200.00 avg60=10.00 avg300=100.00 total=1\n", 4},
		"NothingMeasured": {"", 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := factor(tt.pressure); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

func TestParseStall(t *testing.T) {
	for name, tt := range map[string]struct {
		pressure string
		want     time.Duration
	}{
		"Linux":      {"some avg10=0.27 avg60=10.01 avg300=20.75 total=150220288\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n", 150220288 * time.Microsecond},
		"Empty":      {"", 0},
		"NotANumber": {"some avg10=0.27 total=many\n", 0},
		"OnlyFull":   {"full avg10=0.00 total=7\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := parseStall(tt.pressure); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}
