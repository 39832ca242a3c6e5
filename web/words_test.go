package web

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

func TestEveryStateIsKnown(t *testing.T) {
	t.Parallel()
	for _, s := range []any{
		sol.InstantiationStateInstantiated, sol.InstantiationStateNotInstantiated, sol.VnfOperationalStateStarted,
		sol.VnfOperationalStateStopped, sol.LcmOperationStateStarting, sol.LcmOperationStateProcessing,
		sol.LcmOperationStateCompleted, sol.LcmOperationStateFailedTemp, sol.LcmOperationStateFailed,
		sol.LcmOperationStateRollingBack, sol.LcmOperationStateRolledBack, lcm.PhaseRunning, lcm.PhaseWaiting,
		lcm.PhaseDone, lcm.PhaseFailed, lcm.StepOpen, lcm.StepUnfinished, lcm.StepDone, lcm.StepFailed,
		sol.PackageOnboardingStateCreated, sol.PackageOnboardingStateUploading, sol.PackageOnboardingStateProcessing,
		sol.PackageOnboardingStateOnboarded, sol.PackageOnboardingStateError, sol.PackageOperationalStateEnabled,
		sol.PackageOperationalStateDisabled, sol.PackageUsageStateInUse, sol.PackageUsageStateNotInUse,
	} {
		_, ok := badges[badgeOf(s).Code]
		require.True(t, ok, s)
	}
	require.Equal(t, badge{Kind: "idle", Word: "Something new", Code: "SOMETHING_NEW"}, badgeOf("SOMETHING_NEW"))
}

func TestTook(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0.0 s", 1234 * time.Millisecond: "1.2 s", 59 * time.Second: "59 s",
		61 * time.Second: "1 min 01 s", 125 * time.Minute: "2 h 05 min",
	} {
		require.Equal(t, want, took(d))
	}
}

func TestTicksAreFewAndRound(t *testing.T) {
	t.Parallel()
	for _, whole := range []time.Duration{
		time.Second, 70 * time.Second, 12 * time.Minute, 3 * time.Hour, 400 * 24 * time.Hour,
	} {
		x := axis{from: time.Unix(0, 0), to: time.Unix(0, 0).Add(whole)}
		n := len(x.ticks())
		require.Positive(t, n, whole)
		require.LessOrEqual(t, n, 7, whole)
	}
	x := axis{from: time.Unix(0, 0), to: time.Unix(100, 0)}
	require.Equal(t, []tick{{"0.00%", "0 s"}, {"30.00%", "30 s"}, {"60.00%", "1:00"}, {"90.00%", "1:30"}}, x.ticks())
	require.Equal(t, "99.60%", x.span(time.Unix(500, 0), time.Time{}, "OPEN").X,
		"a clock that is ahead does not leave the picture")
}

func TestStepsFindTheRunOfTheirPhase(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	phases := []lcm.PhaseRecord{
		{Name: "infra", Started: at(0)}, {Name: "rollback_infra", Started: at(5)}, {Name: "infra", Started: at(10)},
	}
	steps := []lcm.StepRecord{
		{ID: 1, Phase: "infra", Started: at(1)},
		{ID: 2, Phase: "infra", Started: at(11)},
		{ID: 3, Phase: "new", Started: at(12)},
	}
	d := timeline(
		&lcm.Operation{ID: "o", State: sol.LcmOperationStateProcessing, Started: at(0)}, nil, phases, steps, at(20),
	)
	require.Len(t, d.Phases, 4)
	require.EqualValues(t, 1, d.Phases[0].Steps[0].ID)
	require.EqualValues(t, 2, d.Phases[2].Steps[0].ID)
	require.EqualValues(
		t, 3, d.Phases[3].Steps[0].ID, "a phase is recorded at the end of its first tick; its steps are seen before",
	)
}

func TestWhatIsOpenWhenAnOperationRestsIsUnfinished(t *testing.T) {
	t.Parallel()
	op := &lcm.Operation{
		State: sol.LcmOperationStateFailedTemp, Started: time.Unix(0, 0), StateEntered: time.Unix(9, 0),
		Waiting: "something",
	}
	d := timeline(op, nil, []lcm.PhaseRecord{{Name: "infra", State: lcm.PhaseRunning}},
		[]lcm.StepRecord{{Phase: "infra", State: lcm.StepOpen}}, time.Unix(99, 0))
	require.Equal(t, "UNFINISHED", d.Phases[0].State)
	require.Equal(t, "UNFINISHED", d.Phases[0].Steps[0].State)
	require.Empty(t, d.Waiting)
	require.Equal(t, "9.0 s", d.Elapsed, "it does not go on")
}

func TestTopologyWithoutAnInventory(t *testing.T) {
	t.Parallel()
	i := &lcm.Instance{Instantiated: &sol.InstantiatedVnfInfo{
		VnfcInfo: []sol.VnfcInfo{{ID: "VDU1-a", VduID: "VDU1", VnfcResourceInfoID: "a"}, {
			ID: "VDU1-lost", VduID: "VDU1", VnfcResourceInfoID: "lost",
		}},
		VnfcResourceInfo: []sol.VnfcResourceInfo{
			{ID: "a", VduID: "VDU1", VnfcCpInfo: []sol.VnfcCpInfo{{CpdID: "CP1", VnfExtCpID: "cp-1"}, {CpdID: "CP2"}}},
		},
		ExtCpInfo: []sol.VnfExtCpInfo{{ID: "cp-1", ExtLinkPortID: "p1", CpProtocolInfo: []sol.CpProtocolInfo{{
			IpOverEthernet: &sol.IpOverEthernetAddressInfo{
				IpAddresses: []sol.IpAddressInfo{{Addresses: []string{"10.0.0.9"}}},
			},
		}}}},
		ExtVirtualLinkInfo: []sol.ExtVirtualLinkInfo{{ID: "net", ExtLinkPorts: []sol.ExtLinkPortInfo{{ID: "p1"}}}},
	}}
	top := topologyOf(i)
	require.Len(t, top.Groups, 1)
	require.Len(t, top.Groups[0].VNFCs, 1, "a VNFC without resources cannot be drawn")
	ports := top.Groups[0].VNFCs[0].Ports
	require.Equal(t, port{Name: "CP1", ID: "p1", IPs: []string{"10.0.0.9"}, LinkName: "net"}, ports[0])
	require.Equal(t, -1, ports[1].Link)
	d := draw(top)
	require.Len(t, d.Cables, 1)
	require.Equal(t, "no address yet", d.Cards[0].Rows[1].Text)
	require.Empty(t, draw(topologyOf(&lcm.Instance{Instantiated: &sol.InstantiatedVnfInfo{}})).Cards)
}

func TestNothingInADrawingOverlaps(t *testing.T) {
	t.Parallel()
	top := &topology{Links: make([]link, 9), Shared: make([]port, 5)}
	for range 4 {
		top.Groups = append(top.Groups, group{VNFCs: []vnfc{{Ports: make([]port, 7)}, {}, {Ports: make([]port, 1)}}})
	}
	d := draw(top)
	for n := 1; n < len(d.Cards); n++ {
		require.Greater(t, d.Cards[n].Y, d.Cards[n-1].Y+d.Cards[n-1].H)
	}
	for _, c := range d.Cards {
		for _, r := range c.Rows {
			require.Greater(t, r.Y, c.Y)
			require.Less(t, r.Y, c.Y+c.H)
		}
	}
	last := d.Boxes[len(d.Boxes)-1]
	require.LessOrEqual(t, last.Y+last.H, d.Height)
	require.LessOrEqual(t, last.X+last.W, d.Width)
	require.Less(t, d.Rails[8].X, last.X)
	require.Less(t, d.Rails[8].Top, d.Boxes[0].Y)
}

func TestFlatten(t *testing.T) {
	t.Parallel()
	var kv sol.KeyValuePairs
	require.NoError(t, json.Unmarshal(
		[]byte(`{"b":{"c":[1,{"password":"x"}],"token":"x","d":null},"a":1.5,"url":"http://u:x@h/","e":{}}`), &kv,
	))
	require.Equal(
		t, []pair{{"a", "1.5"}, {"b.c", "[1,{}]"}, {"b.d", ""}, {"e", "{}"}, {"url", "http://u@h/"}},
		flatten(kv, redact.New()),
	)
	require.Len(t, []rune(flatten(sol.KeyValuePairs{"k": strings.Repeat("ü", 5000)}, redact.New())[0].Value), 160)
}

func FuzzPlain(f *testing.F) {
	f.Add("\x1b[1;32mok\x1b[0m 10%\r 20%\r100%\r")
	f.Add("\x1b]0;title\x07text")
	f.Fuzz(func(t *testing.T, in string) {
		for _, r := range plain(in) {
			require.False(t, unicode.IsControl(r) && r != '\t')
		}
	})
}
