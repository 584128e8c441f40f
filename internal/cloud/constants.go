package cloud

import "time"

// The constants of the rules that decide when a call may begin, each with its reason.
const (
	few  = 3  // so many objects that fail together are no coincidence
	many = 32 // so many that fail together say more than an answer a moment ago

	tick     = 100 * time.Millisecond // between two looks at something that changes with each call
	slow     = 250 * time.Millisecond // from here on, a few calls at the same time are few calls a second
	moment   = time.Second            // calls that others have begun have usually ended
	recently = 10 * time.Second       // a refusal or an answer still says something about the next call
	lately   = time.Minute            // a quota has filled up again for a first few calls
	rarely   = 30 * time.Second       // some clouds lock an account after many failed logins
	anHour   = time.Hour              // what nobody has used or seen again is forgotten
	aDay     = 24 * time.Hour         // the same for what was measured

	firstPause   = 1200 * time.Millisecond // the first pause before a single call tests whether the cloud answers
	longestPause = 4980 * time.Millisecond // such pauses grow up to this, so an end is found within 5 seconds
	deniedLong   = 10 * time.Minute        // whoever mends credentials now does not wait for the daemon
	longestAsked = 5 * time.Minute         // the longest pause that the cloud can ask for, for one object

	coldCalls  = 2  // calls at the same time while it is unknown whether the cloud answers
	usualCalls = 10 // calls at the same time before the width grows with time: few are refused when a burst ends
	maxTries   = 5  // calls for one question while the quota is used up
	restart    = 20 // calls a second at which an unknown quota is tried; few enough for a small one
	maxClasses = 64 // regions come from labels, which a kubelet can choose
	maxObjects = 4096

	belowQuota  = 0.9                  // the part of the measured quota that the rate begins with
	growth      = 0.04                 // of the rate, in as many answers as the measurement rests on: a few refused calls in hundreds
	mostSamples = 200                  // a larger quota is found within a few thousand calls
	background  = 0.15                 // of a quota, for comparisons; with a listing of routes in each minute they are below a fifth of one call a second
	freeAnswer  = 2 * time.Millisecond // a faster answer came from the provider's own memory
)
