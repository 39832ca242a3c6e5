package lcm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// vnf is an instance with these VNFCs, listed as drivers do: of each VDU the highest index first.
func vnf(list string) *sol.InstantiatedVnfInfo {
	i := &sol.InstantiatedVnfInfo{}
	for id := range strings.FieldsSeq(list) {
		i.VnfcInfo = append(i.VnfcInfo, sol.VnfcInfo{ID: id, VduID: id[:1]})
	}
	return i
}

func counts(a, b int) map[string]int { return map[string]int{"a": a, "b": b} }

// uneven is a flavour with an aspect whose steps differ, and one that shares a VDU with it.
var uneven = &vnfd.Flavour{
	ID:   "f",
	VDUs: []vnfd.VDU{{Name: "a", MinInstances: 1, MaxInstances: 6}, {Name: "b", MaxInstances: 4}},
	Aspects: []vnfd.ScalingAspect{
		{ID: "x", MaxScaleLevel: 3, Steps: []map[string]int{{"a": 1}, {"a": 1, "b": 2}, {"b": 1}}},
		{ID: "y", MaxScaleLevel: 2, Steps: []map[string]int{{"b": 1}, {"b": 1}}},
	},
}

func TestStepsAddUpInBothDirections(t *testing.T) {
	t.Parallel()
	x := &uneven.Aspects[0]
	for _, tt := range []struct {
		from, to int
		want     map[string]int
	}{
		{0, 1, map[string]int{"a": 1}},
		{0, 3, map[string]int{"a": 2, "b": 3}},
		{3, 0, map[string]int{"a": -2, "b": -3}},
		{2, 1, map[string]int{"a": -1, "b": -2}},
		{1, 1, map[string]int{}},
		{2, 9, map[string]int{"b": 1}}, // more than the VNFD says
	} {
		require.Equal(t, tt.want, steps(x, tt.from, tt.to), "%d to %d", tt.from, tt.to)
	}
}

func TestScopeSaysWhichVNFCsComeAndGo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, have string
		want       map[string]int
		add        map[string]int
		remove     []string
	}{
		{"nothing", "a1 a0 b0", counts(2, 1), map[string]int{}, nil},
		{"more", "a1 a0 b0", counts(4, 2), map[string]int{"a": 2, "b": 1}, nil},
		{"fewer, the highest first", "a3 a2 a1 a0 b1 b0", counts(2, 1), map[string]int{}, []string{"a3", "a2", "b1"}},
		{"both", "a1 a0 b1 b0", counts(1, 3), map[string]int{"b": 1}, []string{"a1"}},
		{"a VDU that the flavour has not", "c1 c0 a0", counts(1, 0), map[string]int{}, []string{"c1", "c0"}},
		{"from nothing", "", counts(1, 0), map[string]int{"a": 1}, nil},
	} {
		s := scopeTo(vnf(tt.have), uneven, tt.want, map[string]int{"x": 1})
		require.Equal(
			t,
			&Scope{Flavour: "f", ScaleLevels: map[string]int{"x": 1}, Counts: tt.want, Add: tt.add, Remove: tt.remove},
			s, tt.name,
		)
	}
}

func TestTheLevelReachedIsTheHighestThatIsComplete(t *testing.T) {
	t.Parallel()
	scope := func(x, y, a, b int) *Scope {
		return &Scope{ScaleLevels: map[string]int{"x": x, "y": y}, Counts: counts(a, b)}
	}
	for _, tt := range []struct {
		from, to *Scope
		a, b     int
		x, y     int
	}{
		{scope(0, 0, 1, 0), scope(2, 0, 3, 2), 1, 0, 0, 0},
		{scope(0, 0, 1, 0), scope(2, 0, 3, 2), 2, 0, 1, 0},
		{scope(0, 0, 1, 0), scope(2, 0, 3, 2), 3, 1, 1, 0}, // the second step wants two of b
		{scope(0, 0, 1, 0), scope(2, 0, 3, 2), 3, 2, 2, 0},
		{scope(2, 0, 3, 2), scope(0, 0, 1, 0), 3, 1, 1, 0}, // on the way down
		{scope(2, 0, 3, 2), scope(0, 0, 1, 0), 1, 0, 0, 0},
		{scope(2, 1, 3, 3), scope(2, 1, 3, 3), 1, 1, 2, 1}, // no level was to change
		{scope(0, 1, 1, 1), scope(2, 0, 3, 2), 1, 1, 0, 1}, // nothing has happened yet
		{scope(0, 1, 1, 1), scope(2, 0, 3, 2), 3, 2, 2, 0}, // everything has
		{scope(2, 0, 3, 2), scope(3, 1, 3, 4), 3, 2, 2, 0},
	} {
		got := reached(uneven, tt.from, tt.to, counts(tt.a, tt.b))
		require.Equal(t, map[string]int{"x": tt.x, "y": tt.y}, got, "%v to %v with %d and %d", tt.from.ScaleLevels,
			tt.to.ScaleLevels, tt.a, tt.b)
	}
}

func TestProfilesBoundWhatChanges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		now, want map[string]int
		bad       int
	}{
		{counts(1, 0), counts(6, 4), 0},
		{counts(1, 0), counts(7, 5), 2},
		{counts(1, 0), counts(0, 0), 1},
		{counts(9, 0), counts(9, 1), 0}, // what does not change is nobody's fault now
		{counts(1, 0), counts(1, -1), 1},
	} {
		require.Len(t, outOfBounds(uneven, tt.now, tt.want, "/p"), tt.bad, "%v to %v", tt.now, tt.want)
	}
}

func TestADifferenceIsThePatchThatMakesIt(t *testing.T) {
	t.Parallel()
	object := func(s string) map[string]any { return map[string]any{"k": s} }
	for n, tt := range []struct{ a, b map[string]any }{
		{nil, nil},
		{nil, object("x")},
		{object("x"), nil},
		{map[string]any{
			"o": object("x"), "l": []any{1.0}, "same": object("y"),
		}, map[string]any{"o": object("z"), "l": []any{2.0}, "same": object("y")}},
		{map[string]any{"o": object("x")}, map[string]any{"o": "text"}},
		{map[string]any{"o": "text"}, map[string]any{"o": object("x")}},
		{map[string]any{"o": map[string]any{"a": 1.0, "b": 2.0}}, map[string]any{"o": map[string]any{"b": 2.0}}},
	} {
		d := difference(tt.a, tt.b)
		require.Equal(t, mergePairs(nil, tt.b), mergePairs(tt.a, d), fmt.Sprint(n))
		require.NotContains(t, d, "same")
		require.Equal(t, len(tt.a) == 0 && len(tt.b) == 0, d == nil)
	}
}
