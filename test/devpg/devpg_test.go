//go:build unix

package devpg_test

import (
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/devpg"
)

func TestEveryTestHasItsOwnMigratedDatabase(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "b"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := devpg.New(t)
			_, err := pool.Exec(t.Context(), "CREATE TABLE mine (n int)")
			require.NoError(t, err)
			var jobs int
			require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM river_job").Scan(&jobs))
		})
	}
}

func TestAPrivateServerSurvivesACrashWithItsData(t *testing.T) {
	t.Parallel()
	s, err := devpg.Start(t.Context(), devpg.Options{Private: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop()) })
	exec := func(sql string) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), s.URL())
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(), sql)
		require.NoError(t, err)
		require.NoError(t, conn.Close(t.Context()))
	}
	exec("CREATE TABLE kept (n int)")
	require.NoError(t, s.Crash())
	_, err = pgx.Connect(t.Context(), s.URL())
	require.Error(t, err)
	require.NoError(t, s.Restart(t.Context()))
	exec("INSERT INTO kept VALUES (1)")
	require.NoError(t, s.Halt())
	require.NoError(t, s.Restart(t.Context()))
	exec("INSERT INTO kept SELECT n FROM kept")
}

func TestAFolderOfAServerCanBeUsedAgain(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "devpg") //nolint:usetesting // the parent of t.TempDir is closed to the server's user
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o711))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	for range 2 {
		began := time.Now()
		s, err := devpg.Start(t.Context(), devpg.Options{Private: true, Dir: dir + "/pg"})
		require.NoError(t, err)
		require.Equal(t, dir+"/pg", s.Dir())
		t.Logf("started in %s at %s", time.Since(began), s.Dir())
		require.NoError(t, s.Stop())
	}
}

func TestWithoutPostgreSQLTheUserLearnsWhatToInstall(t *testing.T) {
	require.ErrorContains(t, devpg.ErrNotFound, "apt-get install postgresql")
	t.Setenv(devpg.EnvBin, t.TempDir())
	_, err := devpg.FindBin()
	require.ErrorContains(t, err, devpg.EnvBin)
}
