package kube

import (
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// failedTest is the message with which the API server answers a JSON patch whose test
// operation has failed. The answer has the status 422, as for a rejected value, and no
// other details.
const failedTest = "the server rejected our request due to an error in our request"

// IsStale reports whether a write was refused because the object has changed or has
// been replaced since it was read. In this case, the API server answers 409. It answers
// 422 if a test operation of the patch has failed. It also answers 422 to a patch with
// another UID, because a UID is immutable. A webhook can refuse a write with 409 or
// 422, too. That says nothing about changes of the object, so IsStale returns false.
func IsStale(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || isDenied(status.ErrStatus) {
		return false
	}
	if apierrors.IsConflict(err) {
		return true
	}
	return apierrors.IsInvalid(err) && (status.ErrStatus.Message == failedTest || namesUID(status.ErrStatus.Details))
}

// IsRejected reports whether a write was refused because of its content or because of a
// missing right. The same write will be refused again until somebody changes something.
func IsRejected(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || IsStale(err) {
		return false
	}
	switch code := status.ErrStatus.Code; code {
	case http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusGone, http.StatusTooManyRequests:
		return isDenied(status.ErrStatus)
	default:
		return code >= http.StatusBadRequest && code < http.StatusInternalServerError || isDenied(status.ErrStatus)
	}
}

// isDenied reports whether an admission webhook has refused the request. The API server
// writes the beginning of the message. The webhook chooses the rest of the status.
func isDenied(s metav1.Status) bool {
	return strings.HasPrefix(s.Message, "admission webhook ") && strings.Contains(s.Message, " denied the request")
}

// namesUID reports whether the rejected value is the UID.
func namesUID(d *metav1.StatusDetails) bool {
	if d == nil {
		return false
	}
	for _, cause := range d.Causes {
		if cause.Field == "metadata.uid" {
			return true
		}
	}
	return false
}
