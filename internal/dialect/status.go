package dialect

import "strconv"

// Status is a gRPC status code. The numbers are gRPC's own, so that a binding can
// convert it; this package does not depend on gRPC.
type Status uint32

// The gRPC statuses of the error table.
const (
	Canceled           Status = 1
	InvalidArgument    Status = 3
	DeadlineExceeded   Status = 4
	NotFound           Status = 5
	AlreadyExists      Status = 6
	PermissionDenied   Status = 7
	ResourceExhausted  Status = 8
	FailedPrecondition Status = 9
	Aborted            Status = 10
	Unimplemented      Status = 12
	Internal           Status = 13
	Unavailable        Status = 14
	DataLoss           Status = 15
	Unauthenticated    Status = 16
)

var statusNames = map[Status]string{
	Canceled:           "CANCELLED",
	InvalidArgument:    "INVALID_ARGUMENT",
	DeadlineExceeded:   "DEADLINE_EXCEEDED",
	NotFound:           "NOT_FOUND",
	AlreadyExists:      "ALREADY_EXISTS",
	PermissionDenied:   "PERMISSION_DENIED",
	ResourceExhausted:  "RESOURCE_EXHAUSTED",
	FailedPrecondition: "FAILED_PRECONDITION",
	Aborted:            "ABORTED",
	Unimplemented:      "UNIMPLEMENTED",
	Internal:           "INTERNAL",
	Unavailable:        "UNAVAILABLE",
	DataLoss:           "DATA_LOSS",
	Unauthenticated:    "UNAUTHENTICATED",
}

// String returns the name that google.rpc.Code has for s, such as "NOT_FOUND".
func (s Status) String() string {
	if name, ok := statusNames[s]; ok {
		return name
	}
	return "Status(" + strconv.FormatUint(uint64(s), 10) + ")"
}
