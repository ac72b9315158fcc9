package org.horovod4j.runtime.autotune;

/// The lower triangle `L` of a symmetric positive definite matrix `A = L Lᵀ`, and what it is good
/// for.
///
/// `n³ / 3` operations to make, `n²` to solve. The matrices here have a row for each sample, some
/// thirty.
final class Cholesky {
    private final double[][] lower;

    /// @throws ArithmeticException when the matrix is not positive definite
    Cholesky(double[][] matrix) {
        int n = matrix.length;
        lower = new double[n][n];
        for (int row = 0; row < n; row++) {
            for (int column = 0; column <= row; column++) {
                double rest = matrix[row][column];
                for (int k = 0; k < column; k++) {
                    rest -= lower[row][k] * lower[column][k];
                }
                lower[row][column] = row == column ? root(rest) : rest / lower[column][column];
            }
        }
    }

    private static double root(double rest) {
        if (!(rest > 0)) {
            throw new ArithmeticException("the matrix is not positive definite: " + rest);
        }
        return Math.sqrt(rest);
    }

    /// The `x` of `L x = b`.
    double[] solveLower(double[] b) {
        double[] x = b.clone();
        for (int row = 0; row < x.length; row++) {
            for (int k = 0; k < row; k++) {
                x[row] -= lower[row][k] * x[k];
            }
            x[row] /= lower[row][row];
        }
        return x;
    }

    /// The `x` of `A x = b`.
    double[] solve(double[] b) {
        double[] x = solveLower(b);
        for (int row = x.length - 1; row >= 0; row--) {
            for (int k = row + 1; k < x.length; k++) {
                x[row] -= lower[k][row] * x[k];
            }
            x[row] /= lower[row][row];
        }
        return x;
    }

    /// The logarithm of the determinant of `A`.
    double logDeterminant() {
        double sum = 0;
        for (int row = 0; row < lower.length; row++) {
            sum += Math.log(lower[row][row]);
        }
        return 2 * sum;
    }
}
