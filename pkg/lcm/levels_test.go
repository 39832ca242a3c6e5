package lcm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// leveled is a flavour whose aspect scales VDU a; its instantiation levels differ in VDU b, which no aspect scales.
var leveled = &vnfd.Flavour{
	ID: "f", VDUs: []vnfd.VDU{{Name: "a"}, {Name: "b"}}, DefaultLevel: "small",
	Aspects: []vnfd.ScalingAspect{{ID: "x", MaxScaleLevel: 2, Steps: []map[string]int{{"a": 1}, {"a": 2}}}},
	Levels: []vnfd.InstantiationLevel{
		{ID: "small", ScaleLevels: map[string]int{"x": 0}, VDUs: map[string]int{"a": 1, "b": 0}},
		{ID: "volumes", ScaleLevels: map[string]int{"x": 0}, VDUs: map[string]int{"a": 1, "b": 3}},
		{ID: "large", ScaleLevels: map[string]int{"x": 2}, VDUs: map[string]int{"a": 4, "b": 3}},
	},
}

func TestLevelCountsAreThoseOfTheClosestInstantiationLevel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		level     int
		now, want map[string]int
	}{
		{"as it is", 0, counts(1, 0), counts(1, 0)},
		{"as another level is", 0, counts(1, 3), counts(1, 3)},
		{"scaled", 1, counts(2, 3), counts(2, 3)},
		{"some lost", 2, counts(1, 2), counts(4, 3)},
		{"surplus", 0, counts(2, 0), counts(1, 0)},
		{"nothing left", 1, counts(0, 0), counts(2, 0)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, levelCounts(leveled, map[string]int{"x": tt.level}, tt.now))
		})
	}
}

func TestRaisedLevelsCountWholeSteps(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		level, a, want int
	}{
		{0, 1, 0}, {0, 2, 1}, {0, 3, 1}, {0, 4, 2}, {0, 9, 2}, // beyond the highest level
		{1, 1, 1}, {2, 0, 2}, // lost VNFCs do not lower a level
	} {
		got := raisedLevels(leveled, map[string]int{"x": tt.level}, counts(tt.a, 3))
		require.Equal(t, map[string]int{"x": tt.want}, got, "%+v", tt)
	}
}

func TestScaledCountsAreThoseOfTheTargetLevel(t *testing.T) {
	t.Parallel()
	x := leveled.Aspect("x")
	for _, tt := range []struct {
		from, to  int
		now, want map[string]int
	}{
		{0, 1, counts(1, 3), counts(2, 3)},
		{2, 1, counts(4, 3), counts(2, 3)},
		{0, 1, counts(2, 0), counts(2, 0)}, // a surplus becomes part of the level
		{1, 0, counts(3, 2), counts(1, 2)}, // VDUs of other aspects keep their numbers
		{2, 1, counts(0, 0), counts(2, 0)}, // never below zero
	} {
		require.Equal(t, tt.want, scaledCounts(leveled, x, tt.to, map[string]int{"x": tt.from}, tt.now), "%+v", tt)
	}
}

// Without a default level the first one is the starting point, where the VNFCs of now do not tell.
func TestLevelCountsWithoutADefaultLevel(t *testing.T) {
	t.Parallel()
	f := *leveled
	f.DefaultLevel = ""
	require.Equal(t, counts(4, 3), levelCounts(&f, map[string]int{"x": 2}, counts(1, 2)))
	require.Equal(t, counts(1, 0), levelCounts(&f, map[string]int{"x": 0}, counts(0, 0)))
}
