package outcome

// Code is why a call did not simply succeed. The list is closed; docs/codes.md explains each.
type Code string

// The reason codes.
const (
	OK                   Code = ""
	InvalidParameter     Code = "INVALID_PARAMETER"
	UnknownAsset         Code = "UNKNOWN_ASSET"
	OutOfRange           Code = "OUT_OF_RANGE"
	StepTooLarge         Code = "STEP_TOO_LARGE"
	TooSoon              Code = "TOO_SOON"
	RateLimited          Code = "RATE_LIMITED"
	WriteBudgetExhausted Code = "WRITE_BUDGET_EXHAUSTED"
	NoAccess             Code = "NO_ACCESS"
	NotArmed             Code = "NOT_ARMED"
	LockedOut            Code = "LOCKED_OUT"
	LockedByOther        Code = "LOCKED_BY_OTHER"
	LocalMode            Code = "LOCAL_MODE"
	Interlocked          Code = "INTERLOCKED"
	PermitUnknown        Code = "PERMIT_UNKNOWN"
	ObserveMode          Code = "OBSERVE_MODE"
	Busy                 Code = "BUSY"
	Unsettled            Code = "UNSETTLED"
	Superseded           Code = "SUPERSEDED"
	NetworkUnreachable   Code = "NETWORK_UNREACHABLE"
	DeviceOffline        Code = "DEVICE_OFFLINE"
	DeviceException      Code = "DEVICE_EXCEPTION"
	DeviceBusy           Code = "DEVICE_BUSY"
	BusOff               Code = "BUS_OFF"
	ProtocolError        Code = "PROTOCOL_ERROR"
	NotSent              Code = "NOT_SENT"
	OutcomeUnknown       Code = "OUTCOME_UNKNOWN"
	VerifyTimeout        Code = "VERIFY_TIMEOUT"
	VerifyMismatch       Code = "VERIFY_MISMATCH"
	Reverted             Code = "REVERTED"
	FeedbackStale        Code = "FEEDBACK_STALE"
	FeedbackFrozen       Code = "FEEDBACK_FROZEN"
	FeedbackBad          Code = "FEEDBACK_BAD"
	Degraded             Code = "DEGRADED"
	ContractDrift        Code = "CONTRACT_DRIFT"
	JournalFailed        Code = "JOURNAL_FAILED"
	Internal             Code = "INTERNAL"
)

// CodeInfo explains one code to people: what it means, the layer it usually lies in and the usual next step.
type CodeInfo struct {
	Code    Code
	Layer   Layer
	Meaning string
	Next    string
}

// Codes lists every code with its explanation, in the order of the documentation.
func Codes() []CodeInfo {
	return []CodeInfo{
		{InvalidParameter, LayerCapability, "an argument is missing, unknown or of the wrong type", "correct the argument that the message names"},
		{UnknownAsset, LayerCapability, "no asset or point has this name", "use a name from find_tools or read_state"},
		{OutOfRange, LayerCapability, "a value lies outside a hard limit", "ask for a value inside the limits given"},
		{StepTooLarge, LayerPolicy, "the change is larger than one step may be", "ask for a value inside `allowed`"},
		{TooSoon, LayerPolicy, "the machine may not be moved again yet", "call again after `after`"},
		{RateLimited, LayerPolicy, "too many calls in the time the contract allows", "call again after `after`"},
		{WriteBudgetExhausted, LayerPolicy, "the writes a non-volatile register may take are used up", "ask the engineer; do not repeat"},
		{NoAccess, LayerPolicy, "the caller may not do this", "use a token with the permission named"},
		{NotArmed, LayerPolicy, "a critical action needs a technician's consent at the box", "ask a technician to arm it"},
		{LockedOut, LayerPolicy, "a technician has locked the asset", "wait until the person named unlocks it"},
		{LockedByOther, LayerPolicy, "another caller owns the asset", "wait until the owner named releases it"},
		{LocalMode, LayerPolicy, "the machine is under local control", "ask at the machine for remote control"},
		{Interlocked, LayerPolicy, "a permit does not hold", "remove the cause that the message names"},
		{PermitUnknown, LayerPolicy, "a permit cannot be judged: its reading is bad, stale, or its device stands still", "find out why the reading is missing"},
		{ObserveMode, LayerPolicy, "the box only observes: no write can leave it", "an engineer switches the mode at the box"},
		{Busy, LayerPolicy, "the asset is being moved by another call", "wait for that call, then ask again"},
		{Unsettled, LayerPolicy, "an earlier call on this asset ended without a known outcome", "read the state; a technician can settle it"},
		{Superseded, LayerPolicy, "an action to the safe side took over", "read the state before anything else"},
		{NetworkUnreachable, LayerExecution, "the endpoint cannot be reached", "check network and power of the gateway or device"},
		{DeviceOffline, LayerExecution, "the device does not answer", "check the device and its wire"},
		{DeviceException, LayerExecution, "the device refused the request", "check register, value and the device's own state"},
		{DeviceBusy, LayerExecution, "the device is busy", "call again a little later"},
		{BusOff, LayerExecution, "the CAN controller is off the bus", "check the bus, then restart the interface"},
		{ProtocolError, LayerExecution, "the answer broke the protocol", "check the wire, the gateway and the unit id"},
		{NotSent, LayerExecution, "the command did not leave the box", "the call may be repeated"},
		{OutcomeUnknown, LayerExecution, "the command may have been sent; no answer came", "read the state; do not repeat blindly"},
		{VerifyTimeout, LayerDevice, "the machine had not settled at the deadline", "follow it with explain; do not repeat"},
		{VerifyMismatch, LayerDevice, "the machine settled elsewhere than asked", "look at the machine; do not repeat blindly"},
		{Reverted, LayerDevice, "a confirmed state was left again", "find out who or what changed it"},
		{FeedbackStale, LayerVerification, "the witness is too old", "check the witness"},
		{FeedbackFrozen, LayerVerification, "the witness, or its device, stands still", "check the device; its values are not news"},
		{FeedbackBad, LayerVerification, "the witness gives no valid value, or two sensors contradict each other", "check the sensor and its wiring"},
		{Degraded, LayerPolicy, "three verifications failed in a row; the tool is out of service", "a technician restores it after a look at the machine"},
		{ContractDrift, LayerVerification, "two witnesses that should agree drift apart", "have the sensors checked"},
		{JournalFailed, LayerExecution, "the journal cannot be written, so nothing may be moved", "check disk space and the state folder"},
		{Internal, LayerExecution, "a defect of capd", "report it with the invocation id"},
	}
}
